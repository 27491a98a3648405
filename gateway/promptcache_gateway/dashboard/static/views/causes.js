// Causes with what they cost, and on demand what they are and what to do about them.

import { html } from "../vendor/preact-htm.js";
import { CauseChip, Empty, Prose, Table } from "../parts.js";
import { count, money } from "../format.js";
import { link } from "../route.js";

export function CauseTable({ rows, causes, template }) {
  if (rows.length === 0) return html`<${Empty}>No miss so far.<//>`;
  const most = Math.max(...rows.map((row) => row.lost_tokens ?? 0));
  return html`
    <${Table} label="causes" kind="causes">
      <thead><tr><th scope="col">cause</th><th scope="col" class="wide o1">share of the loss</th><th scope="col" class="n">requests</th>
        <th scope="col" class="n">lost<span class="unit"> tokens</span></th><th scope="col" class="n o1">lost $</th></tr></thead>
      <tbody>${rows.map((row) => html`
        <tr key=${row.code}><th scope="row"><${Explained} row=${row} cause=${causes[row.code]} causes=${causes} /></th>
          <td class="wide o1"><span class="bar plain" aria-hidden="true"><span class="lost" style=${{ width: `${most ? (100 * row.lost_tokens) / most : 0}%` }}></span></span></td>
          <td class="n"><a href=${link(["requests"], { cause: row.code, template })} aria-label=${`${count(row.requests)} requests with ${row.code}`}>${count(row.requests)}</a></td>
          <td class="n">${count(row.lost_tokens)}</td><td class="n o1">${money(row.lost_usd)}</td>
        </tr>`)}</tbody>
    <//>`;
}

const Explained = ({ row, cause, causes }) => html`
  <details><summary><${CauseChip} code=${row.code} causes=${causes} attribution=${row.attribution} /></summary>
    <p class="soft"><${Prose} text=${cause?.explanation} /></p>
    <p class="advice"><${Prose} text=${cause?.remedy} /></p>
    <p class="soft">In a terminal: <code>promptcache rule ${row.code}</code></p></details>`;
