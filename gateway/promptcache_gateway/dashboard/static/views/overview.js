// The first page: how much was reused, what that saved, what is lost to which cause, template by template, live.

import { html } from "../vendor/preact-htm.js";
import { Timeline } from "../chart.js";
import { Fact, Facts, HitBar, Origin, Spark, Table } from "../parts.js";
import { count, duration, known, moment, money, percent, plural, short, times } from "../format.js";
import { link, toTemplate } from "../route.js";
import { Budgets } from "./budgets.js";
import { CauseTable } from "./causes.js";
import { LeftAlone } from "./left_alone.js";
import { RequestTable } from "./requests.js";

export function Overview({ data, causes }) {
  const { templates, requests, timeline, sparklines, budgets, upstreams } = data;
  if (templates.length === 0) return html`<${LeftAlone} upstreams=${upstreams} /><${Welcome} />`;
  const total = sum(templates);
  return html`
    <h1 class="hidden">Overview</h1>
    <${LeftAlone} upstreams=${upstreams} />
    <section class="lead" aria-label="all that was recorded">
      <div class="headline"><p><span class="big">${percent(total.hitRate)}</span>${" "}of prompt tokens came from the cache</p>
        <${HitBar} cached=${known(total.hitRate) ? total.cached : null} prompt=${total.reported} ceiling=${total.ceiling} />
        <p class="soft">${known(total.ceiling) ? html`${percent(total.ceiling)} is the ceiling these prompts allow; the hatched part is lost. ` : null}Since ${moment(total.since)}.</p></div>
      <${Facts} label="totals">
        <${Fact} label="net saved" value=${money(total.savedUsd)} note=${known(total.savedUsd) ? "after the price of writing" : "no price known for these models"} tone="good" />
        <${Fact} label="lost" value=${money(total.lostUsd)} note=${`${short(total.lost)} tokens read anew`} tone=${total.lost ? "bad" : ""} />
        <${Fact} label="prompt tokens" value=${short(total.prompt)} note=${`${short(total.cached)} from the cache`} />
        <${Fact} label="requests" value=${short(total.requests)} note=${plural(templates.length, "template")} />
      <//>
    </section>
    <${Timeline} timeline=${timeline} names=${[""]} heading="Tokens over time" />
    <section><h2>Templates</h2><${TemplateTable} templates=${templates} sparklines=${sparklines} /></section>
    <section><h2>Top causes</h2><${CauseTable} rows=${total.causes} causes=${causes} /></section>
    ${budgets.length ? html`<${Budgets} budgets=${budgets} />` : null}
    <section><div class="heading"><h2>Latest requests</h2><a href=${link(["requests"])}>all requests</a></div>
      <${RequestTable} requests=${requests} causes=${causes} /></section>`;
}

const Welcome = () => html`
  <section class="welcome"><h1>No request yet</h1>
    <p>Point an OpenAI client at <code>${new URL("v1", document.baseURI).href}</code> and send one.
      It appears here the moment it ends.</p></section>`;

function TemplateTable({ templates, sparklines }) {
  return html`
    <${Table} label="templates" kind="templates">
      <thead><tr><th scope="col">template</th><th scope="col" class="wide">reuse</th><th scope="col" class="n">hit rate</th>
        <th scope="col" class="n o1">ceiling</th><th scope="col" class="o2">trend</th><th scope="col" class="n o2">requests</th>
        <th scope="col" class="n">lost<span class="unit"> tokens</span></th><th scope="col" class="n o1">lost $</th><th scope="col" class="n o2">net saved $</th>
        <th scope="col" class="n o3">writes</th>
        <th scope="col" class="n o3">TTFT hit</th><th scope="col" class="n o3">TTFT miss</th></tr></thead>
      <tbody>${templates.map((row) => html`
        <tr key=${row.name}>
          <th scope="row"><a href=${toTemplate(row.name)}>${row.name}</a>
            <${Origin} row=${row} /></th>
          <td class="wide"><${HitBar} cached=${row.cached_tokens} prompt=${row.reported_prompt_tokens} ceiling=${row.achievable_hit_rate} /></td>
          <td class="n">${percent(row.hit_rate)}</td><td class="n o1">${percent(row.achievable_hit_rate)}</td>
          <td class="o2"><${Spark} rates=${sparklines.hit_rate[row.name]} name=${row.name} /></td>
          <td class="n o2">${count(row.requests)}</td>
          <td class="n">${short(row.lost_tokens)}</td><td class="n o1">${money(row.lost_usd)}</td><td class="n o2">${money(row.saved_usd)}</td>
          <td class="n o3">${times(row.write_amplification)}</td>
          <td class="n o3">${duration(row.ttft_ms?.hit)}</td><td class="n o3">${duration(row.ttft_ms?.miss)}</td>
        </tr>`)}</tbody>
    <//>`;
}

function sum(templates) {
  const total = { requests: 0, prompt: 0, reported: 0, cached: 0, lost: 0, lostUsd: null, savedUsd: null, reusable: 0, since: Infinity };
  const byCode = new Map();
  for (const row of templates) {
    total.requests += row.requests;
    total.prompt += row.prompt_tokens ?? 0;
    total.reported += row.reported_prompt_tokens ?? 0;
    total.cached += row.cached_tokens ?? 0;
    total.lost += row.lost_tokens ?? 0;
    total.reusable += (row.achievable_hit_rate ?? 0) * (row.reported_prompt_tokens ?? 0);
    total.since = Math.min(total.since, row.first_seen);
    total.lostUsd = plus(total.lostUsd, row.lost_usd);
    total.savedUsd = plus(total.savedUsd, row.saved_usd);
    for (const cause of row.causes ?? []) merge(byCode, cause);
  }
  const rate = (part) => (total.reported ? part / total.reported : null);
  return { ...total, hitRate: rate(total.cached), ceiling: rate(total.reusable), causes: ranked([...byCode.values()]) };
}

const plus = (one, other) => (known(other) ? (one ?? 0) + other : one);

// By money where every row's is known, else by tokens: a known cent must not outrank an unpriced million.
function ranked(rows) {
  const priced = rows.every((row) => row.lost_usd !== null || row.lost_tokens === 0);
  const weight = (row) => (priced ? row.lost_usd ?? 0 : row.lost_tokens);
  return rows.sort((a, b) => weight(b) - weight(a) || b.requests - a.requests);
}

function merge(byCode, cause) {
  const row = byCode.get(cause.code) ?? { code: cause.code, attribution: cause.attribution, requests: 0, lost_tokens: 0, lost_usd: null };
  row.requests += cause.requests;
  row.lost_tokens += cause.lost_tokens ?? 0;
  row.lost_usd = plus(row.lost_usd, cause.lost_usd);
  byCode.set(cause.code, row);
}
