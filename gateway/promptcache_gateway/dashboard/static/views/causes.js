// Causes with what they cost, and on demand what they are and what to do about them.

import { html, useState } from "../vendor/preact-htm.js";
import { CauseChip, Empty, Prose, Table } from "../parts.js";
import { count, money } from "../format.js";
import { link } from "../route.js";

// `few`: how many are shown at first. `behind`: the codes that stand in front of a code, where that is known.
// `diagnosed`: whether anybody looks for causes.
export function CauseTable({ rows, causes, template, few, behind, diagnosed = true }) {
  const [all, setAll] = useState(false);
  if (rows.length === 0) return html`<${Empty}>${diagnosed ? "No miss so far." : "Nothing is known of misses: diagnosis is off."}<//>`;
  const most = Math.max(...rows.map((row) => row.lost_tokens ?? 0));
  const shown = all || !few ? rows : rows.slice(0, few);
  return html`
    <${Table} label="causes" kind="causes">
      <thead><tr><th scope="col">cause</th><th scope="col" class="wide o1">share of the loss</th><th scope="col" class="n o1">requests</th>
        <th scope="col" class="n">lost<span class="unit"> tokens</span></th><th scope="col" class="n">lost $</th></tr></thead>
      <tbody>${shown.map((row) => html`
        <tr key=${row.code}><th scope="row"><${Explained} row=${row} cause=${causes[row.code]} causes=${causes} /><${Order} code=${row.code} behind=${behind ?? {}} /></th>
          <td class="wide o1"><span class="bar plain" aria-hidden="true"><span class="lost" style=${{ width: `${most ? (100 * row.lost_tokens) / most : 0}%` }}></span></span></td>
          <td class="n o1"><a href=${link(["requests"], { cause: row.code, template })} aria-label=${`${count(row.requests)} requests with ${row.code}`}>${count(row.requests)}</a></td>
          <td class="n">${count(row.lost_tokens)}</td><td class="n">${money(row.lost_usd)}</td>
        </tr>`)}</tbody>
    <//>
    ${few && rows.length > few ? html`<p class="more"><button type="button" aria-expanded=${all} onClick=${() => setAll(!all)}>${all ? `Show ${few}` : `Show all ${rows.length}`}</button></p>` : null}
    ${rows.length > 1 ? html`<p class="soft below">Causes that break one prompt share its loss from the front: each has the tokens up to the next, and nothing behind the first is read until that is mended.</p>` : null}`;
}

// What stands in front of a cause, and what behind it: mending the one behind saves nothing alone.
function Order({ code, behind }) {
  const front = behind[code] ?? [];
  const back = Object.keys(behind).filter((other) => behind[other].includes(code));
  const said = [front.length ? `behind ${front.join(", ")}: mended alone it saves nothing` : null,
    back.length ? `in front of ${back.join(", ")}: mend this first` : null].filter(Boolean);
  return said.length ? html`<p class="soft order">${said.join("; ")}</p>` : null;
}

const Explained = ({ row, cause, causes }) => html`
  <details><summary><${CauseChip} code=${row.code} causes=${causes} attribution=${row.attribution} /></summary>
    <p class="soft"><${Prose} text=${cause?.explanation} /></p>
    <p class="advice"><${Prose} text=${cause?.remedy} /></p>
    <p class="soft">In a terminal: <code>promptcache rule ${row.code}</code></p></details>`;
