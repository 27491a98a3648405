// What keys and tenants may spend, and what is left of it.

import { html } from "../vendor/preact-htm.js";
import { Table } from "../parts.js";
import { count, moment, money } from "../format.js";

export function Budgets({ budgets }) {
  return html`
    <section><h2>Budgets</h2>
      <${Table} label="budgets">
        <thead><tr><th scope="col">of</th><th scope="col" class="wide o1">spent</th><th scope="col" class="n">spent $</th><th scope="col" class="n">of $</th>
          <th scope="col" class="n o1">left $</th><th scope="col" class="o2">begins anew</th></tr></thead>
        <tbody>${budgets.map((row) => html`
          <tr key=${`${row.tenant} ${row.key_id}`}><th scope="row">${row.tenant}${row.key ? html` <span class="tag">key ${row.key}</span>` : null}
              ${row.unpriced_requests ? html`<span class="note"> ${count(row.unpriced_requests)} without a known price</span>` : null}</th>
            <td class="wide o1"><span class="bar" aria-hidden="true"><span class=${row.left_usd > 0 ? "hit" : "over"} style=${{ width: `${Math.min(100, (100 * row.spent_usd) / row.budget_usd)}%` }}></span></span></td>
            <td class="n">${money(row.spent_usd)}</td><td class="n">${money(row.budget_usd)} a ${row.period}</td><td class="n o1">${money(row.left_usd)}</td>
            <td class="o2">${moment(row.resets_at)}</td></tr>`)}</tbody>
      <//></section>`;
}
