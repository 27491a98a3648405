// The first page: how much was reused, what is lost to which cause, template by template, live.

import { html } from "../vendor/preact-htm.js";
import { Card, CauseChip, Empty, HitBar } from "../parts.js";
import { count, duration, money, percent, short } from "../format.js";
import { RequestTable } from "./requests.js";

export function Overview({ templates, requests, causes }) {
  if (templates.length === 0) return html`<${Welcome} />`;
  const total = sum(templates);
  return html`
    <section aria-label="totals" class="cards">
      <${Card} label="token hit rate" value=${percent(total.hitRate)} note=${`ceiling ${percent(total.ceiling)}`} tone="lead" />
      <${Card} label="prompt tokens" value=${short(total.prompt)} note=${`${short(total.cached)} from the cache`} />
      <${Card} label="lost tokens" value=${short(total.lost)} note=${total.lostUsd === null ? "cost unknown" : money(total.lostUsd)} tone=${total.lost ? "warn" : ""} />
      <${Card} label="requests" value=${count(total.requests)} note=${`${templates.length} template${templates.length === 1 ? "" : "s"}`} />
    </section>
    <div class="columns">
      <section><h2>Templates</h2><${TemplateTable} templates=${templates} /></section>
      <section><h2>Misses by cause</h2><${CauseTable} rows=${total.causes} causes=${causes} /></section>
    </div>
    <section><h2>Last requests</h2><${RequestTable} requests=${requests} causes=${causes} /></section>`;
}

const Welcome = () => html`
  <section class="welcome"><h2>No request yet</h2>
    <p>Point an OpenAI client at <code>${new URL("v1", document.baseURI).href}</code> and send one.
      It appears here the moment it ends.</p></section>`;

function TemplateTable({ templates }) {
  return html`
    <div class="scroll"><table>
      <thead><tr><th>template</th><th class="wide">reuse</th><th class="n">hit rate</th><th class="n">ceiling</th>
        <th class="n">requests</th><th class="n">lost tokens</th><th class="n">TTFT hit</th><th class="n">miss</th></tr></thead>
      <tbody>${templates.map((row) => html`
        <tr key=${row.name}>
          <th scope="row"><a href=${`#/templates/${encodeURIComponent(row.name)}`}>${row.name}</a>
            ${row.learned ? html`<span class="tag" title="learned from traffic; name it with the header x-promptcache-template">learned</span>` : null}</th>
          <td class="wide"><${HitBar} cached=${row.cached_tokens} prompt=${row.reported_prompt_tokens} ceiling=${row.achievable_hit_rate} /></td>
          <td class="n">${percent(row.hit_rate)}</td><td class="n">${percent(row.achievable_hit_rate)}</td>
          <td class="n">${count(row.requests)}</td><td class="n">${count(row.lost_tokens)}</td>
          <td class="n">${duration(row.ttft_ms?.hit)}</td><td class="n">${duration(row.ttft_ms?.miss)}</td>
        </tr>`)}</tbody>
    </table></div>`;
}

export function CauseTable({ rows, causes }) {
  if (rows.length === 0) return html`<${Empty}>No miss so far.<//>`;
  return html`
    <div class="scroll"><table>
      <thead><tr><th>cause</th><th class="n">requests</th><th class="n">lost tokens</th><th class="n">money</th></tr></thead>
      <tbody>${rows.map((row) => html`
        <tr key=${row.code}><th scope="row"><${CauseChip} code=${row.code} causes=${causes} />
            <div class="remedy">${causes[row.code]?.remedy ?? ""}</div></th>
          <td class="n">${count(row.requests)}</td><td class="n">${count(row.lost_tokens)}</td><td class="n">${money(row.lost_usd)}</td>
        </tr>`)}</tbody>
    </table></div>`;
}

function sum(templates) {
  const total = { requests: 0, prompt: 0, reported: 0, cached: 0, lost: 0, lostUsd: null, reusable: 0 };
  const byCode = new Map();
  for (const row of templates) {
    total.requests += row.requests;
    total.prompt += row.prompt_tokens ?? 0;
    total.reported += row.reported_prompt_tokens ?? 0;
    total.cached += row.cached_tokens ?? 0;
    total.lost += row.lost_tokens ?? 0;
    total.reusable += (row.achievable_hit_rate ?? 0) * (row.reported_prompt_tokens ?? 0);
    if (row.lost_usd !== null && row.lost_usd !== undefined) total.lostUsd = (total.lostUsd ?? 0) + row.lost_usd;
    for (const cause of row.causes ?? []) merge(byCode, cause);
  }
  const rate = (part) => (total.reported ? part / total.reported : null);
  return { ...total, hitRate: rate(total.cached), ceiling: rate(total.reusable), causes: ranked([...byCode.values()]) };
}

// By money where every row's is known, else by tokens: a known cent must not outrank an unpriced million.
function ranked(rows) {
  const priced = rows.every((row) => row.lost_usd !== null || row.lost_tokens === 0);
  const weight = (row) => (priced ? row.lost_usd ?? 0 : row.lost_tokens);
  return rows.sort((a, b) => weight(b) - weight(a) || b.requests - a.requests);
}

function merge(byCode, cause) {
  const row = byCode.get(cause.code) ?? { code: cause.code, requests: 0, lost_tokens: 0, lost_usd: null };
  row.requests += cause.requests;
  row.lost_tokens += cause.lost_tokens ?? 0;
  if (cause.lost_usd !== null && cause.lost_usd !== undefined) row.lost_usd = (row.lost_usd ?? 0) + cause.lost_usd;
  byCode.set(cause.code, row);
}
