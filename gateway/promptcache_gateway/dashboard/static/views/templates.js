// All templates in a table: those that lost most first, or by any column; some, those of a name, or all.

import { html, useState } from "../vendor/preact-htm.js";
import { Broken, Empty, HitBar, Origin, Spark, Table } from "../parts.js";
import { count, duration, known, money, percent, plural, short } from "../format.js";
import { toTemplate } from "../route.js";

const FEW = 10;

// `as`: what a column is sorted by, the most first unless it is `text`. The gateway's own order is by loss.
const COLUMNS = [
  { name: "name", label: "template", as: (row) => row.name, text: true },
  { name: "reuse", label: "reuse", kind: "wide" },
  { name: "hit_rate", label: "hit rate", kind: "n", as: (row) => row.hit_rate },
  { name: "ceiling", label: "ceiling", kind: "n o1", as: (row) => row.achievable_hit_rate },
  { name: "trend", label: "trend", kind: "o2" },
  { name: "requests", label: "requests", kind: "n o2", as: (row) => row.requests },
  { name: "lost_tokens", label: "lost tokens", kind: "n", as: (row) => row.lost_tokens },
  { name: "lost_usd", label: "lost $", kind: "n", as: (row) => row.lost_usd },
  { name: "saved_usd", label: "net saved $", kind: "n o2", as: (row) => row.saved_usd },
  { name: "ttft_hit", label: "TTFT hit", kind: "n o3", as: (row) => row.ttft_ms?.hit },
  { name: "ttft_miss", label: "TTFT miss", kind: "n o3", as: (row) => row.ttft_ms?.miss },
];

export function Templates({ templates, sparklines }) {
  const priced = templates.some((row) => row.lost_usd);
  const [order, setOrder] = useState(null);
  const [wanted, setWanted] = useState("");
  const [all, setAll] = useState(false);
  const chosen = order ?? { by: priced ? "lost_usd" : "lost_tokens", up: false };
  const matching = templates.filter((row) => row.name.toLowerCase().includes(wanted.trim().toLowerCase()));
  const sorted = order ? inOrder(matching, order) : matching;
  const shown = all ? sorted : sorted.slice(0, FEW);
  const turn = ({ name, text }) => setOrder({ by: name, up: chosen.by === name ? !chosen.up : Boolean(text) });
  return html`
    <section>
      <div class="heading"><h2>Templates</h2>
        ${templates.length > FEW ? html`<label class="find"><span class="hidden">find a template by its name</span>
          <input type="search" placeholder="find by name" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></label>` : null}</div>
      <${Table} label="templates" kind=${priced ? "templates priced" : "templates"}>
        <thead><tr>${COLUMNS.map((column) => html`<${Head} key=${column.name} column=${column} chosen=${chosen} turn=${turn} />`)}</tr></thead>
        <tbody>${shown.map((row) => html`<${Row} key=${row.name} row=${row} rates=${sparklines.hit_rate[row.name]} />`)}</tbody>
      <//>
      ${templates.length === 0 ? html`<${Empty}>No request in this window.<//>` : matching.length === 0 ? html`<${Empty}>No template has this in its name.<//>` : null}
      ${templates.length > FEW ? html`<p class="more"><span class="soft" role="status">${shown.length === templates.length ? plural(templates.length, "template")
        : `${count(shown.length)} of ${matching.length === templates.length ? plural(matching.length, "template") : plural(matching.length, "match", "es")}`}</span>
        ${matching.length > FEW ? html`<button type="button" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? `Show ${FEW}` : `Show all ${count(matching.length)}`}</button>` : null}</p>` : null}
    </section>`;
}

function Head({ column, chosen, turn }) {
  const by = column.as && chosen.by === column.name;
  return html`
    <th scope="col" class=${`${column.kind ?? ""} c-${column.name}`} aria-sort=${by ? (chosen.up ? "ascending" : "descending") : null}>
      ${column.as ? html`<button type="button" class="sort" onClick=${() => turn(column)}>${column.label}</button>` : column.label}</th>`;
}

const Row = ({ row, rates }) => html`
  <tr>
    <th scope="row"><a href=${toTemplate(row.name)}><${Broken} name=${row.name} /></a><${Origin} row=${row} /></th>
    <td class="wide"><${HitBar} cached=${row.cached_tokens} prompt=${row.reported_prompt_tokens} ceiling=${row.achievable_hit_rate} /></td>
    <td class="n">${percent(row.hit_rate)}</td><td class="n o1">${percent(row.achievable_hit_rate)}</td>
    <td class="o2"><${Spark} rates=${rates} name=${row.name} /></td>
    <td class="n o2">${count(row.requests)}</td>
    <td class="n c-lost_tokens">${short(row.lost_tokens)}</td><td class="n c-lost_usd">${money(row.lost_usd)}</td><td class="n o2">${money(row.saved_usd)}</td>
    <td class="n o3">${duration(row.ttft_ms?.hit)}</td><td class="n o3">${duration(row.ttft_ms?.miss)}</td>
  </tr>`;

// What is not known stands last either way.
function inOrder(rows, { by, up }) {
  const { as, text } = COLUMNS.find(({ name }) => name === by);
  const less = (a, b) => (text ? a.localeCompare(b) : a - b);
  return [...rows].sort((one, other) => {
    const [a, b] = [as(one), as(other)];
    if (!known(a) || !known(b)) return Number(known(b)) - Number(known(a));
    return up ? less(a, b) : less(b, a);
  });
}
