// One request: its prompt segment by segment, where it left the earlier one, what that cost, what to do.

import { html } from "../vendor/preact-htm.js";
import { CauseChip, Empty, Fact, Facts, HitBar, Prose, Table } from "../parts.js";
import { Difference } from "../difference.js";
import { about, count, duration, known, moment, money, percent, short } from "../format.js";
import { toRequest, toTemplate } from "../route.js";
import { Source } from "./source.js";

const FEW = 12;

export function RequestView({ data: request, causes }) {
  const usage = request.usage ?? {};
  const diagnosis = request.diagnosis ?? {};
  const rate = known(usage.cached_tokens) && usage.prompt_tokens ? usage.cached_tokens / usage.prompt_tokens : null;
  return html`
    <p class="crumbs"><a href="#/">Templates</a> / <a href=${toTemplate(request.template)}>${request.template}</a></p>
    <h1><code>${request.id}</code></h1>
    <p class="soft">${moment(request.time)} · ${request.model} at ${request.upstream} · ${request.dialect} · HTTP ${request.status}${request.error ? `, ${request.error}` : ""}</p>
    ${request.failure ? html`<${Failure} failure=${request.failure} />` : null}
    <${Facts} label="totals">
      <${Fact} label="from the cache" value=${percent(rate)} note=${`${count(usage.cached_tokens)} of ${count(usage.prompt_tokens)} tokens`} tone="good" />
      <${Fact} label="lost" value=${about(short(diagnosis.lost_tokens), diagnosis.estimated)} note=${`tokens, ${money(diagnosis.lost_usd)}`} tone=${diagnosis.lost_tokens ? "bad" : ""} />
      <${Fact} label="time to first token" value=${duration(request.ttft_ms)} note=${`${duration(request.duration_ms)} to the last`} />
      <${Fact} label="cost" value=${money(request.cost_usd)} note=${`${money(request.saved_usd)} saved, ${count(usage.output_tokens)} output tokens`} />
    <//>
    <${Diagnosis} diagnosis=${diagnosis} causes=${causes} />
    ${request.source ? html`<section aria-label="source"><h2>In the source</h2><${Source} source=${request.source} /></section>` : null}
    ${request.provider_verdict ? html`<${Verdict} verdict=${request.provider_verdict} />` : null}
    <section aria-label="prompt"><h2>Prompt</h2><${Prompt} request=${request} /></section>
    ${request.changes?.length ? html`<section aria-label="changes"><h2>Changed on the way</h2><${Changes} changes=${request.changes} /></section>` : null}
    <section aria-label="usage"><h2>Usage</h2><${Usage} request=${request} /></section>`;
}

const WHOSE = { caller: "The caller's doing.", upstream: "The upstream's doing.", gateway: "The gateway's doing." };

// How it failed, in words.
const Failure = ({ failure }) => html`
  <section aria-label="failure"><h2>It failed</h2>
    <p><${Prose} text=${failure.what} /> ${WHOSE[failure.whose] ?? "Whose doing it is cannot be told from here."}</p>
    <p><b>What to do:</b> <${Prose} text=${failure.remedy} /></p></section>`;

function Diagnosis({ diagnosis, causes }) {
  const cause = causes[diagnosis.cause];
  const placed = new Map((diagnosis.places ?? []).map((place) => [place.code, place]));
  const further = (diagnosis.causes ?? []).filter((code) => code !== diagnosis.cause).map((code) => placed.get(code) ?? { code });
  const shown = [diagnosis, ...further];
  const others = further.map((place, at) => ({ ...place, front: isBefore(place, diagnosis), repeated: shown.slice(0, at + 1).some((other) => atOnePlace(other, place)) }));
  return html`
    <section class="diagnosis" aria-label="diagnosis"><h2>Diagnosis</h2>
      <p><${CauseChip} code=${diagnosis.cause} causes=${causes} attribution=${diagnosis.attribution} hit=${diagnosis.hit} />
        ${diagnosis.path ? html` at <code>${diagnosis.path}</code>${position(diagnosis)}` : null}</p>
      ${diagnosis.summary ? html`<p class="verdict">${diagnosis.summary}</p>` : null}
      ${diagnosis.before && diagnosis.after ? html`<${Difference} before=${diagnosis.before} after=${diagnosis.after} />` : null}
      ${diagnosis.remedy ? html`<p class="advice"><${Prose} text=${diagnosis.remedy} /></p>` : null}
      ${cause ? html`<details><summary>About ${cause.code}: ${cause.title}</summary><p class="soft"><${Prose} text=${cause.explanation} /></p></details>` : null}
      <dl class="pairs">
        <dt>expected from the cache</dt><dd>${about(count(diagnosis.expected_cached_tokens), diagnosis.estimated)} tokens</dd>
        <dt>reusable, had nothing differed</dt><dd>${about(count(diagnosis.reusable_tokens), diagnosis.estimated)} tokens</dd>
        <dt>whose doing</dt><dd>${diagnosis.attribution ?? "–"}</dd>
        <dt>compared with</dt><dd>${diagnosis.compared_with
          ? html`<a href=${toRequest(diagnosis.compared_with)}>${diagnosis.compared_with}</a>` : "nothing"}</dd>
      </dl>
      ${others.length ? html`<h3>Also</h3><ul class="places">${others.map((place) => html`<${Further} key=${place.code} place=${place} causes=${causes} />`)}</ul>` : null}
    </section>`;
}

// Whether two causes stand at one place, so that its text need be shown but once.
const atOnePlace = (one, other) => known(other.path) && one.path === other.path && one.char_offset === other.char_offset;

// Whether one cause stands in front of another: then mending the one behind saves nothing alone.
const isBefore = (one, other) => known(one.path) && known(other.path)
  && (one.path === other.path ? (one.char_offset ?? 0) < (other.char_offset ?? 0) : one.token_offset < other.token_offset);

// A further cause of the same request, at its own place.
const Further = ({ place, causes }) => html`
  <li><div class="place"><${CauseChip} code=${place.code} causes=${causes} />
      ${place.path ? html`<span>at <code>${place.path}</code>${position({ ...place, estimated: true })}</span>` : null}
      ${place.lost_tokens ? html`<span class="cost">${count(place.lost_tokens)} tokens lost</span>` : null}</div>
    ${place.front ? html`<p class="soft">It stands in front: nothing behind it is read until it is mended.</p>` : null}
    ${place.repeated ? html`<p class="soft">At the same place as above.</p>`
      : known(place.before) && known(place.after) ? html`<${Difference} before=${place.before} after=${place.after} />` : null}
    ${causes[place.code]?.remedy ? html`<p class="advice"><${Prose} text=${causes[place.code].remedy} /></p>` : null}</li>`;

// What the gateway changed of the request, and what it left as it was and why.
const Changes = ({ changes }) => html`
  <dl class="pairs">${changes.map((change) => html`
    <dt>${change.name}</dt><dd>${change.paths.length ? change.paths.map((path, at) => html`${at ? ", " : ""}<code>${path}</code>`) : "nothing"}
      ${change.skipped.map(({ path, reason }) => html`<span class="note"> · left <code>${path}</code>: ${reason}</span>`)}</dd>`)}</dl>`;

function position({ char_offset, token_offset, estimated }) {
  const parts = [];
  if (known(char_offset)) parts.push(`character ${count(char_offset)}`);
  if (known(token_offset)) parts.push(`token ${about(count(token_offset), estimated)}`);
  return parts.length ? `, ${parts.join(", ")}` : "";
}

// Segments as wide as their tokens: read from the cache, lost, or new.
function Prompt({ request }) {
  const { outline, usage } = request;
  if (!outline) {
    return html`<${HitBar} cached=${usage.cached_tokens} prompt=${usage.prompt_tokens} />
      <${Empty}>Its segments are not in memory; only counts are kept on disk.<//>`;
  }
  const cached = usage.cached_tokens;
  const reusable = Math.max(cached ?? 0, request.diagnosis.reusable_tokens ?? 0);
  const parts = outline.map((part) => ({ ...part, ...split(part, cached, reusable), place: part.path === part.last ? part.path : `${part.path} … ${part.last}` }));
  const label = `${outline.length} segments; ${count(cached)} of ${count(usage.prompt_tokens)} tokens from the cache`;
  const broken = (part) => request.diagnosis.path && (part.path === request.diagnosis.path || request.diagnosis.path.startsWith(`${part.path}.`));
  const rows = (some) => some.map((part) => html`
    <tr key=${part.path} class=${broken(part) ? "broken" : ""}><th scope="row"><code>${part.place}</code>${broken(part) ? html` <span class="tag">diverges here</span>` : null}</th>
      <td>${part.role || part.kind}</td><td class="n">${about(count(part.tokens), true)}</td><td>${state(part, cached)}</td></tr>`);
  const table = (some) => html`
    <${Table} label="segments"><thead><tr><th scope="col">segment</th><th scope="col">role</th><th scope="col" class="n">tokens</th><th scope="col">cache</th></tr></thead><tbody>${rows(some)}</tbody><//>`;
  return html`
    <div class="segments" role="img" aria-label=${label}>${parts.map((part) => html`
      <span key=${part.path} class=${broken(part) ? "broken" : ""} title=${`${part.place}: ≈ ${count(part.tokens)} tokens`} style=${{ flexGrow: part.bytes }}>
        <i class="hit" style=${{ width: `${part.hit * 100}%` }}></i><i class="lost" style=${{ width: `${part.lost * 100}%` }}></i></span>`)}</div>
    <ul class="key"><li class="hit">read from the cache</li><li class="lost">lost: would have matched</li><li>new</li></ul>
    <p class="soft">Where a segment begins is an estimate by its bytes; the totals are the upstream's.</p>
    ${parts.length <= FEW ? table(parts) : html`<details><summary>All ${parts.length} segments</summary>${table(parts)}</details>`}`;
}

function split({ start_token: start, tokens }, cached, reusable) {
  if (!tokens || !known(cached)) return { hit: 0, lost: 0 };
  const upTo = (end) => Math.min(1, Math.max(0, (end - start) / tokens));
  return { hit: upTo(cached), lost: upTo(reusable) - upTo(cached) };
}

function state({ hit, lost }, cached) {
  if (!known(cached)) return "not reported";
  if (hit >= 0.995) return "read";
  const words = [hit > 0.005 ? `≈ ${Math.round(hit * 100)} % read` : null, lost > 0.005 ? `≈ ${Math.round(lost * 100)} % lost` : null];
  return words.filter(Boolean).join(", ") || "new";
}

// What the provider's own diagnostics say, beside ours.
function Verdict({ verdict }) {
  const agreement = verdict.agrees === null ? "One of the two could not tell." : verdict.agrees ? "Both name the same reason." : "The two disagree.";
  const side = (title, reason, told) => html`
    <figure><figcaption>${title}</figcaption><p><b>${reason ?? "no reason given"}</b></p>
      ${told ? html`<pre tabindex="0" role="group" aria-label=${title}>${JSON.stringify(told, null, 2)}</pre>` : html`<p class="soft">No object was sent.</p>`}</figure>`;
  return html`
    <section aria-label="provider's verdict"><h2>The provider's verdict</h2>
      <p class=${verdict.agrees === false ? "verdict" : "soft"}>${agreement} ${verdict.by_caller ? "The caller asked" : "The gateway asked"} about ${verdict.response_id ?? "no earlier answer"}.</p>
      <div class="difference">${side("the provider says", verdict.their_reason, verdict.theirs)}${side("promptcache says", verdict.our_reason, verdict.ours)}</div>
    </section>`;
}

function Usage({ request }) {
  const { usage, raw_usage: raw } = request;
  const rows = [["prompt", usage.prompt_tokens], ["read from the cache", usage.cached_tokens], ["written to the cache", usage.cache_write_tokens],
    ["uncached", usage.uncached_tokens], ["output", usage.output_tokens]];
  return html`
    <dl class="pairs">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${count(value)} tokens</dd>`)}</dl>
    ${raw ? html`<h3>As the upstream wrote it</h3><pre class="raw" tabindex="0" role="group" aria-label="raw usage">${JSON.stringify(raw, null, 2)}</pre>` : null}`;
}
