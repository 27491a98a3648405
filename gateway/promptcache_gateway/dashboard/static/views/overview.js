// The first page: how much was reused, what that saved, what is lost to which cause, template by template, live.

import { html } from "../vendor/preact-htm.js";
import { Timeline, WINDOWS } from "../chart.js";
import { Fact, Facts, HitBar, Within } from "../parts.js";
import { known, moment, money, percent, plural, short } from "../format.js";
import { link } from "../route.js";
import { Budgets } from "./budgets.js";
import { CauseTable } from "./causes.js";
import { LeftAlone } from "./left_alone.js";
import { RequestTable } from "./requests.js";
import { Templates } from "./templates.js";

export function Overview({ data, causes, diagnosed }) {
  const { templates, requests, timeline, sparklines, budgets, upstreams, window } = data;
  if (requests.length === 0 && templates.length === 0) return html`<${LeftAlone} upstreams=${upstreams} /><${Welcome} />`;
  const total = sum(templates);
  return html`
    <h1 class="hidden">Overview</h1>
    <${LeftAlone} upstreams=${upstreams} />
    <section class="lead" aria-label=${window ? WINDOWS[window] : "all that was recorded"}>
      <div class="headline"><p><span class="big">${percent(total.hitRate)}</span>${" "}of prompt tokens came from the cache</p>
        <${HitBar} cached=${known(total.hitRate) ? total.cached : null} prompt=${total.reported} ceiling=${total.ceiling} />
        <p class="soft">${known(total.ceiling) ? html`${percent(total.ceiling)} is the ceiling these prompts allow; the hatched part is lost. ` : null}${window ? html`<${Within} label=${WINDOWS[window]} names=${[""]} />` : `Since ${moment(total.since)}.`}</p></div>
      <${Facts} label="totals">
        <${Fact} label="net saved" value=${money(total.savedUsd)} note=${known(total.savedUsd) ? "after the price of writing" : "no price known for these models"} tone="good" />
        <${Fact} label="lost" value=${money(total.lostUsd)} note=${`${short(total.lost)} tokens read anew`} tone=${total.lost ? "bad" : ""} />
        <${Fact} label="prompt tokens" value=${short(total.prompt)} note=${`${short(total.cached)} from the cache`} />
        <${Fact} label="requests" value=${short(total.requests)} note=${plural(templates.length, "template")} />
      <//>
    </section>
    <${Timeline} timeline=${timeline} names=${[""]} heading="Tokens over time" />
    <section><h2>Top causes</h2><${CauseTable} rows=${total.causes} causes=${causes} few=${6} diagnosed=${diagnosed} /></section>
    <${Templates} templates=${templates} sparklines=${sparklines} />
    ${budgets.length ? html`<${Budgets} budgets=${budgets} />` : null}
    <section><div class="heading"><h2>Latest requests</h2><a href=${link(["requests"])}>all requests</a></div>
      <${RequestTable} requests=${requests} causes=${causes} /></section>`;
}

const Welcome = () => html`
  <section class="welcome"><h1>No request yet</h1>
    <p>Point a client at this gateway and send one. It appears here the moment it ends.</p>
    <dl class="pairs"><dt>OpenAI's clients</dt><dd><code>OPENAI_BASE_URL=${new URL("v1", document.baseURI).href}</code></dd>
      <dt>Anthropic's clients</dt><dd><code>ANTHROPIC_BASE_URL=${new URL(".", document.baseURI).href.replace(/\/$/, "")}</code></dd></dl>
    <p class="soft">Name what a request is for with the header <code>x-promptcache-template</code>; otherwise its template is learned.</p></section>`;

function sum(templates) {
  const total = { requests: 0, prompt: 0, reported: 0, cached: 0, lost: null, lostUsd: null, savedUsd: null, judged: false, reusable: 0, since: Infinity };
  const byCode = new Map();
  for (const row of templates) {
    total.requests += row.requests;
    total.prompt += row.prompt_tokens ?? 0;
    total.reported += row.reported_prompt_tokens ?? 0;
    total.cached += row.cached_tokens ?? 0;
    total.lost = plus(total.lost, row.lost_tokens);
    total.judged ||= known(row.achievable_hit_rate);
    total.reusable += known(row.achievable_hit_rate) ? row.achievable_hit_rate * (row.reported_prompt_tokens ?? 0) : row.cached_tokens ?? 0;
    total.since = Math.min(total.since, row.first_seen);
    total.lostUsd = plus(total.lostUsd, row.lost_usd);
    total.savedUsd = plus(total.savedUsd, row.saved_usd);
    for (const cause of row.causes ?? []) merge(byCode, cause);
  }
  const rate = (part) => (total.reported ? part / total.reported : null);
  return { ...total, hitRate: rate(total.cached), ceiling: total.judged ? rate(total.reusable) : null, causes: ranked([...byCode.values()]) };
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
