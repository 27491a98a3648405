// A table of requests, newest first.

import { html } from "../vendor/preact-htm.js";
import { CauseChip, Empty, HitBar } from "../parts.js";
import { clock, count, duration } from "../format.js";

export function RequestTable({ requests, causes }) {
  if (requests.length === 0) return html`<${Empty}>No request here yet.<//>`;
  return html`
    <div class="scroll"><table class="requests">
      <thead><tr><th>time</th><th>result</th><th>where</th><th>template</th><th class="wide">reuse</th>
        <th class="n">cached</th><th class="n">prompt</th><th class="n">TTFT</th></tr></thead>
      <tbody>${requests.map((row) => html`
        <tr key=${row.id}>
          <th scope="row"><a href=${`#/requests/${encodeURIComponent(row.id)}`}>${clock(row.time)}</a></th>
          <td><${CauseChip} code=${row.diagnosis?.cause} causes=${causes} attribution=${row.diagnosis?.attribution} hit=${row.diagnosis?.hit} /></td>
          <td><code>${row.diagnosis?.path ?? ""}</code></td>
          <td>${row.template}</td>
          <td class="wide"><${HitBar} cached=${row.usage?.cached_tokens} prompt=${row.usage?.prompt_tokens} /></td>
          <td class="n">${count(row.usage?.cached_tokens)}</td><td class="n">${count(row.usage?.prompt_tokens)}</td>
          <td class="n">${duration(row.ttft_ms)}</td>
        </tr>`)}</tbody>
    </table></div>`;
}
