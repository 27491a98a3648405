// One template: what it costs, where its requests leave the prefix, why, and its latest requests.

import { html } from "../vendor/preact-htm.js";
import { Timeline, WINDOWS } from "../chart.js";
import { CauseChip, Empty, Fact, Facts, HitBar, Prose, Within } from "../parts.js";
import { Difference } from "../difference.js";
import { about, count, duration, known, moment, money, percent, plural, short, times } from "../format.js";
import { link, toRequest } from "../route.js";
import { CauseTable } from "./causes.js";
import { Naming } from "./naming.js";
import { RequestTable } from "./requests.js";
import { Source } from "./source.js";

export function TemplateView({ data, causes, diagnosed }) {
  const { template, requests, divergences, timeline, window } = data;
  return html`
    <p class="crumbs"><a href="#/">Templates</a></p>
    <div class="heading"><h1>${template.name}</h1>${template.mixed ? html`<span class="tag">several templates</span>` : template.learned ? html`<span class="tag">learned from traffic</span>` : null}</div>
    ${template.mixed ? html`<p class="verdict">Requests of several templates stand here together: those that share no instructions, or came when no further
      template could be learned. Their rates are no single prompt's. Name templates with the header <code>x-promptcache-template</code>.</p>` : null}
    <section class="lead" aria-label=${window ? WINDOWS[window] : "all that was recorded"}>
      <div class="headline"><p><span class="big">${percent(template.hit_rate)}</span>${" "}of prompt tokens came from the cache</p>
        <${HitBar} cached=${template.cached_tokens} prompt=${template.reported_prompt_tokens} ceiling=${template.achievable_hit_rate} />
        <p class="soft">${known(template.achievable_hit_rate) ? html`${percent(template.achievable_hit_rate)} is the ceiling these prompts allow. ` : null}${window ? html`<${Within} label=${WINDOWS[window]} names=${["templates", template.name]} />` : `Seen from ${moment(template.first_seen)} to ${moment(template.last_seen)}.`}</p></div>
      <${Facts} label="totals">
        <${Fact} label="net saved" value=${money(template.saved_usd)} note=${known(template.saved_usd) ? "after the price of writing" : "no price known"} tone="good" />
        <${Fact} label="lost" value=${money(template.lost_usd)} note=${`${short(template.lost_tokens)} tokens read anew`} tone=${template.lost_tokens ? "bad" : ""} />
        <${Fact} label="requests" value=${short(template.requests)} note=${`${short(template.hits)} hits, ${short(template.misses)} misses`} />
        <${Fact} label="write amplification" value=${times(template.write_amplification)} note=${known(template.write_amplification) ? "tokens written for each new one" : "no write was reported"} />
        <${Fact} label="prompt tokens" value=${short(template.prompt_tokens)} note=${`${short(template.cached_tokens)} from the cache`} />
        <${Fact} label="output tokens" value=${short(template.output_tokens)} note=${template.failed_requests ? `${short(template.failed_requests)} requests failed` : "no request failed"} />
      <//>
    </section>
    ${template.mixed ? null : html`<${Naming} name=${template.name} />`}
    <section><h2>Where requests leave the prefix</h2><${Prefix} found=${divergences} causes=${causes} /></section>
    <section><h2>Causes</h2><${CauseTable} rows=${template.causes ?? []} causes=${causes} template=${template.name} behind=${divergences.behind} diagnosed=${diagnosed} /></section>
    ${template.source ? html`<section><h2>In the source</h2><${Source} source=${template.source} /></section>` : null}
    <section><h2>Time to first token</h2><${FirstToken} ttft=${template.ttft_ms ?? {}} /></section>
    <${Timeline} timeline=${timeline} names=${["templates", template.name]} heading="Tokens over time" />
    <section><div class="heading"><h2>Latest requests</h2><a href=${link(["requests"], { template: template.name })}>all of this template</a></div>
      <${RequestTable} requests=${requests} causes=${causes} alone=${true} /></section>`;
}

// The prompt as a line, from its first token to its last, with a mark where requests diverge.
function Prefix({ found, causes }) {
  const { places, prompt_tokens: length } = found;
  if (places.length === 0) return html`<${Empty}>None of the latest ${plural(found.requests, "request")} left its predecessor's prefix.<//>`;
  const marks = places.map((place, at) => ({ ...place, number: at + 1 }));
  const at = (tokens) => (length ? Math.min(100, (100 * tokens) / length) : 0);
  const label = `prompts of about ${count(length)} tokens: ${count(found.cached_tokens)} are read from the cache on average; `
    + marks.filter((mark) => known(mark.tokens)).map((mark) => `${plural(mark.requests, "request")} diverge behind token ${count(mark.tokens)}`).join(", ");
  return html`
    <div class="prefix" role="img" aria-label=${label}>
      <span class="hit" style=${{ width: `${at(found.cached_tokens ?? 0)}%` }}></span>
      ${found.reusable_tokens > (found.cached_tokens ?? 0) ? html`<span class="lost" style=${{ width: `${at(found.reusable_tokens) - at(found.cached_tokens ?? 0)}%` }}></span>` : null}
      ${marks.filter((mark) => known(mark.tokens)).map((mark) => html`<b key=${mark.number} style=${{ left: `${at(mark.tokens)}%` }}><i>${mark.number}</i></b>`)}
    </div>
    <p class="scale soft"><span>token 0</span><span>≈ ${count(length)} tokens, the mean of the latest ${plural(found.requests, "request")}</span></p>
    <ul class="key"><li class="hit">read on average</li><li class="lost">lost on average</li><li>new on average</li></ul>
    <ol class="places">${marks.map((mark) => html`<${Place} key=${mark.cause + mark.path} mark=${mark} cause=${causes[mark.cause]} causes=${causes} />`)}</ol>`;
}

function Place({ mark, cause, causes }) {
  const position = known(mark.tokens) ? ` behind token ${about(count(mark.tokens), mark.estimated || mark.requests > 1)}` : "";
  return html`
    <li><div class="place"><b class="number">${mark.number}</b><${CauseChip} code=${mark.cause} causes=${causes} attribution=${mark.attribution} />
      <span>at <code>${mark.path}</code>${position}</span>
      <span class="cost">${plural(mark.requests, "request")} · ${count(mark.lost_tokens)} tokens lost · ${money(mark.lost_usd)}</span></div>
      ${mark.sample ? html`<${Difference} before=${mark.sample.before} after=${mark.sample.after} />
        <p class="soft">Sample: <a href=${toRequest(mark.sample.id)}>${mark.sample.id}</a>. Text is kept in memory only.</p>`
        : html`<p class="soft">No sample is in memory any more.</p>`}
      ${cause?.remedy ? html`<p class="advice"><${Prose} text=${cause.remedy} /></p>` : null}</li>`;
}

function FirstToken({ ttft }) {
  const most = Math.max(ttft.hit ?? 0, ttft.miss ?? 0);
  if (!most) return html`<${Empty}>Not seen yet: it takes a streamed answer, or the built-in engine.<//>`;
  const row = (label, value, tone) => html`
    <div class="duel"><dt>${label}</dt><dd><span class="bar plain" aria-hidden="true"><span class=${tone} style=${{ width: `${(100 * (value ?? 0)) / most}%` }}></span></span>
      <span class="n">${duration(value)}</span></dd></div>`;
  return html`<dl class="duels">${row("hit, mean", ttft.hit, "hit")}${row("miss, mean", ttft.miss, "lost")}</dl>`;
}
