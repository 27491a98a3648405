// The file a template is written in, and what the linter found there.

import { html } from "../vendor/preact-htm.js";
import { Empty, Prose, Table } from "../parts.js";

export function Source({ source }) {
  return html`
    <p>Written in <code>${source.file}</code>.</p>
    ${source.problem ? html`<p class="soft">The linter's report cannot be shown: ${source.problem}</p>` : null}
    ${source.findings ? html`<${Findings} findings=${source.findings} />` : null}`;
}

function Findings({ findings }) {
  if (findings.length === 0) return html`<${Empty}>The linter's report names none of these causes there.<//>`;
  return html`
    <${Table} label="findings of the linter">
      <thead><tr><th scope="col">line</th><th scope="col">rule</th><th scope="col">finding</th></tr></thead>
      <tbody>${findings.map((finding) => html`
        <tr key=${`${finding.code}${finding.filename}${finding.location?.row}`}>
          <th scope="row"><code>${finding.filename}:${finding.location?.row ?? "–"}</code></th><td>${finding.code}</td>
          <td><${Prose} text=${finding.message} /></td></tr>`)}</tbody>
    <//>`;
}
