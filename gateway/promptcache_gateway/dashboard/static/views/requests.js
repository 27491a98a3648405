// Requests, newest first: a table, and the page that filters and turns its pages.

import { html } from "../vendor/preact-htm.js";
import { Broken, CauseChip, Empty, HitBar, Table } from "../parts.js";
import { about, clock, count, duration, moment, money } from "../format.js";
import { link, toRequest, toTemplate } from "../route.js";

export function RequestsView({ data, query, causes }) {
  const filters = ["template", "cause", "tenant"].filter((name) => query[name]);
  const choose = (event) => { location.hash = link(["requests"], { ...query, before: null, cause: event.target.value }); };
  return html`
    <div class="heading"><h1>Requests</h1>
      <label>cause <select onChange=${choose} value=${query.cause ?? ""}><option value="">any</option>
        ${Object.values(causes).map(({ code, name }) => html`<option key=${code} value=${code}>${code} ${name}</option>`)}</select></label></div>
    ${filters.length ? html`<ul class="filters" aria-label="filters">${filters.map((name) => html`
      <li key=${name}><a class="tag" href=${link(["requests"], { ...query, before: null, [name]: null })} aria-label=${`without the filter by ${name}`}>${name} ${query[name]} ✕</a></li>`)}</ul>` : null}
    <${RequestTable} requests=${data.data} causes=${causes} />
    <p class="pager">${query.before ? html`<a href=${link(["requests"], { ...query, before: null })}>newest</a>` : null}
      ${data.next ? html`<a href=${link(["requests"], { ...query, before: data.next })} rel="next">older</a>` : null}</p>`;
}

export function RequestTable({ requests, causes, alone }) {
  if (requests.length === 0) return html`<${Empty}>No request here yet.<//>`;
  return html`
    <${Table} label="requests" kind="requests">
      <thead><tr><th scope="col">time</th><th scope="col">result</th><th scope="col" class="o2">where</th>${alone ? null : html`<th scope="col" class="o1">template</th>`}
        <th scope="col" class="wide o3">reuse</th><th scope="col" class="n o1">prompt<span class="unit"> tokens</span></th><th scope="col" class="n">cached</th>
        <th scope="col" class="n">lost</th><th scope="col" class="n o2">lost $</th><th scope="col" class="n o1">TTFT</th></tr></thead>
      <tbody>${requests.map((row) => html`
        <tr key=${row.id}>
          <th scope="row"><a href=${toRequest(row.id)} title=${moment(row.time)}>${clock(row.time)}</a>${alone ? null : html`<a class="plain under" href=${toTemplate(row.template)}><${Broken} name=${row.template} /></a>`}</th>
          <td><${Result} row=${row} causes=${causes} /></td>
          <td class="o2 path"><code>${row.diagnosis?.path ?? ""}</code></td>
          ${alone ? null : html`<td class="o1 named"><a class="plain" href=${toTemplate(row.template)}><${Broken} name=${row.template} /></a></td>`}
          <td class="wide o3"><${HitBar} cached=${row.usage?.cached_tokens} prompt=${row.usage?.prompt_tokens} /></td>
          <td class="n o1">${count(row.usage?.prompt_tokens)}</td><td class="n">${count(row.usage?.cached_tokens)}</td>
          <td class=${row.diagnosis?.lost_tokens ? "n missed" : "n"}>${about(count(row.diagnosis?.lost_tokens), row.diagnosis?.lost_tokens && row.diagnosis?.estimated)}</td><td class="n o2">${money(row.diagnosis?.lost_usd)}</td>
          <td class="n o1">${duration(row.ttft_ms)}</td>
        </tr>`)}</tbody>
    <//>`;
}

// A request that failed was not judged: its status says more than "no verdict".
function Result({ row, causes }) {
  if (row.status >= 400 || row.error) return html`<span class="chip bad"><b>${row.status}</b> ${row.error ?? ""}</span>`;
  return html`<${CauseChip} code=${row.diagnosis?.cause} causes=${causes} attribution=${row.diagnosis?.attribution} hit=${row.diagnosis?.hit} />`;
}
