// The small parts every view is made of.

import { html } from "./vendor/preact-htm.js";
import { count, percent } from "./format.js";

export const Card = ({ label, value, note, tone }) => html`
  <div class="card ${tone ?? ""}">
    <div class="label">${label}</div>
    <div class="value">${value}</div>
    <div class="note">${note ?? ""}</div>
  </div>`;

// Cached against prompt tokens; the tick marks the ceiling: what the same prompts would allow.
export function HitBar({ cached, prompt, ceiling }) {
  if (cached === null || cached === undefined || !prompt) {
    return html`<span class="bar unknown" role="img" aria-label="hit rate not reported"></span>`;
  }
  const rate = cached / prompt;
  const label = `${percent(rate)} of ${count(prompt)} prompt tokens came from the cache`
    + (ceiling === null || ceiling === undefined ? "" : `; ${percent(ceiling)} could have`);
  return html`
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label=${label}>
      <rect class="rest" width="100" height="8" />
      <rect class="hit" width=${rate * 100} height="8" />
      ${ceiling > rate ? html`<rect class="lost" x=${rate * 100} width=${(ceiling - rate) * 100} height="8" />` : null}
    </svg>`;
}

export function CauseChip({ code, causes, attribution, hit }) {
  if (!code) return hit ? html`<span class="chip ok">hit</span>` : html`<span class="chip">no verdict</span>`;
  const cause = causes[code];
  const expected = attribution === "expected" || code === "PC801";
  return html`<span class="chip ${expected ? "calm" : attribution === "unknown" ? "unsure" : "bad"}" title=${cause?.title ?? ""}>
    <b>${code}</b> ${cause?.name ?? ""}</span>`;
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

export const Trouble = ({ error, retry }) => html`
  <div class="trouble" role="alert"><p>${error.message}</p>
    ${retry ? html`<button onClick=${retry}>Try again</button>` : null}</div>`;

// Two excerpts with the characters that differ marked.
export function Difference({ before, after }) {
  const [head, tail] = shared(before, after);
  return html`
    <div class="difference">
      <figure><figcaption>earlier request</figcaption><pre>${marked(before, head, tail, "del")}</pre></figure>
      <figure><figcaption>this request</figcaption><pre>${marked(after, head, tail, "ins")}</pre></figure>
    </div>`;
}

function shared(a, b) {
  const limit = Math.min(a.length, b.length);
  let head = 0;
  while (head < limit && a[head] === b[head]) head += 1;
  let tail = 0;
  while (tail < limit - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
  return [head, tail];
}

function marked(text, head, tail, tag) {
  const end = text.length - tail;
  return html`${text.slice(0, head)}<${tag}>${text.slice(head, end)}<//>${text.slice(end)}`;
}
