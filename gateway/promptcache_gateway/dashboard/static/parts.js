// The small parts every view is made of.

import { html } from "./vendor/preact-htm.js";
import { count, known, percent } from "./format.js";
import { link } from "./route.js";

export const Fact = ({ label, value, note, tone }) => html`
  <div class="fact ${tone ?? ""}"><dt>${label}</dt><dd><span class="value">${value}</span>
    ${note ? html`<span class="note">${note}</span>` : null}</dd></div>`;

export const Facts = ({ label, children }) => html`<dl class="facts" aria-label=${label}>${children}</dl>`;

// Cached against prompt tokens; the hatched part is lost: what the same prompts would allow beyond it.
export function HitBar({ cached, prompt, ceiling }) {
  if (!known(cached) || !prompt) {
    return html`<span class="bar unknown" role="img" aria-label="hit rate not reported"></span>`;
  }
  const rate = Math.min(1, cached / prompt);
  const label = `${percent(rate)} of ${count(prompt)} prompt tokens came from the cache`
    + (known(ceiling) ? `; ${percent(ceiling)} could have` : "");
  return html`
    <span class="bar" role="img" aria-label=${label}>
      <span class="hit" style=${{ width: `${rate * 100}%` }}></span>
      ${ceiling > rate ? html`<span class="lost" style=${{ width: `${(ceiling - rate) * 100}%` }}></span>` : null}
    </span>`;
}

// Hit rates step by step, 0 at the foot and 1 at the head; a gap where nothing was reported.
export function Spark({ rates, name }) {
  const told = (rates ?? []).map((rate, at) => [at, rate]).filter(([, rate]) => known(rate));
  if (told.length === 0) return html`<span class="soft">–</span>`;
  const wide = Math.max(1, rates.length - 1);
  const place = ([at, rate]) => `${(at / wide) * 96 + 2},${20 - rate * 18}`;
  const label = `hit rate of ${name}: first ${percent(told[0][1])}, last ${percent(told.at(-1)[1])}`;
  const [x, y] = place(told.at(-1)).split(",");
  return html`
    <svg class="spark" viewBox="0 0 100 22" role="img" aria-label=${label}>
      <line x1="2" y1="20" x2="98" y2="20" />
      ${runs(told).map((run) => html`<polyline points=${run.map(place).join(" ")} />`)}
      <circle cx=${x} cy=${y} r="2" /></svg>`;
}

// Neighbours stand together; steps without a request in between are bridged, they are no fall of the rate.
function runs(told) {
  return told.length > 1 ? [told] : [[told[0], [told[0][0] + 0.01, told[0][1]]]];
}

export function CauseChip({ code, causes, attribution, hit }) {
  if (!code) return hit ? html`<span class="chip ok">hit</span>` : html`<span class="chip">no verdict</span>`;
  const cause = causes[code];
  const expected = attribution === "expected" || code === "PC801";
  const tone = expected ? "calm" : attribution === "unknown" ? "unsure" : "bad";
  return html`<span class="chip ${tone}" title=${cause?.title ?? ""}><b>${code}</b> ${cause?.name ?? ""}</span>`;
}

// Where a template's name comes from, and whether one template stands behind it.
export function Origin({ row }) {
  if (row.mixed) return html` <span class="tag" title="requests of several templates stand here together">several</span>`;
  return row.learned ? html` <span class="tag" title="learned from traffic; name it with the header x-promptcache-template">learned</span>` : null;
}

// A name that may be broken behind its marks, so that its words stay whole.
export const Broken = ({ name }) => name.split(/(?<=[/_.:@-])(?=[^/_.:@-])/).map((piece, at) => html`${at ? html`<wbr />` : null}${piece}`);

// What totals are of where a window was chosen: of hours as a whole, so that they may be a little more than its curve.
export const Within = ({ label, names }) => html`Counted over ${label}, in whole hours of the clock; <a href=${link(names)}>all that was recorded</a>.`;

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export const Trouble = ({ error, title, stale, retry }) => html`
  ${title ? html`<h1 class="quiet">${title}</h1>` : null}
  <div class="trouble" role="alert"><p>${error.message}${stale ? " What you see below was true before." : ""}</p>
    ${error.status === 404 ? html`<a href="#/">All templates</a>`
      : html`<button type="button" onClick=${retry}>Try again</button>`}</div>`;

// A table that scrolls in itself where the page is too narrow for it; reachable by keyboard.
export const Table = ({ label, kind, children }) => html`
  <div class="scroll" role="region" aria-label=${label} tabindex="0"><table class=${kind ?? ""}>${children}</table></div>`;

// Text of the catalogue: `code` in it is set as such.
export const Prose = ({ text }) => (text ?? "").split("`").map((piece, at) => (at % 2 ? html`<code>${piece}</code>` : piece));
