// One request: where it left the earlier one, what that cost, what to do.

import { html } from "../vendor/preact-htm.js";
import { Card, CauseChip, Difference, HitBar } from "../parts.js";
import { count, duration, moment, money } from "../format.js";

export function RequestView({ request, causes }) {
  const usage = request.usage ?? {};
  const diagnosis = request.diagnosis ?? {};
  return html`
    <h2><a href=${`#/templates/${encodeURIComponent(request.template)}`}>${request.template}</a> / <code>${request.id}</code></h2>
    <section aria-label="totals" class="cards">
      <${Card} label="cached tokens" value=${count(usage.cached_tokens)} note=${`of ${count(usage.prompt_tokens)} in the prompt`} tone="lead" />
      <${Card} label="lost tokens" value=${count(diagnosis.lost_tokens)} note=${money(diagnosis.lost_usd)} tone=${diagnosis.lost_tokens ? "warn" : ""} />
      <${Card} label="time to first token" value=${duration(request.ttft_ms)} note=${`${count(usage.output_tokens)} output tokens`} />
      <${Card} label="model" value=${request.model} note=${`${request.upstream} · ${moment(request.time)}`} tone="text" />
    </section>
    <section><${HitBar} cached=${usage.cached_tokens} prompt=${usage.prompt_tokens} /></section>
    <${Diagnosis} diagnosis=${diagnosis} causes=${causes} />`;
}

function Diagnosis({ diagnosis, causes }) {
  const cause = causes[diagnosis.cause];
  return html`
    <section class="diagnosis" aria-label="diagnosis"><h3>Diagnosis</h3>
      <p><${CauseChip} code=${diagnosis.cause} causes=${causes} attribution=${diagnosis.attribution} hit=${diagnosis.hit} />
        ${diagnosis.path ? html` at <code>${diagnosis.path}</code>${position(diagnosis)}` : null}</p>
      ${diagnosis.summary ? html`<p>${diagnosis.summary}</p>` : null}
      ${cause ? html`<p class="soft">${cause.explanation}</p>` : null}
      ${diagnosis.remedy ? html`<p class="advice">${diagnosis.remedy}</p>` : null}
      ${diagnosis.before && diagnosis.after ? html`<${Difference} before=${diagnosis.before} after=${diagnosis.after} />` : null}
      <dl>
        <dt>expected from the cache</dt><dd>${count(diagnosis.expected_cached_tokens)} tokens</dd>
        <dt>attribution</dt><dd>${diagnosis.attribution ?? "–"}</dd>
        <dt>compared with</dt><dd>${diagnosis.compared_with
          ? html`<a href=${`#/requests/${encodeURIComponent(diagnosis.compared_with)}`}>${diagnosis.compared_with}</a>` : "no earlier request"}</dd>
        ${(diagnosis.causes ?? []).length > 1 ? html`<dt>all causes</dt><dd>${diagnosis.causes.map((item) => html`<${CauseChip} code=${item.code ?? item} causes=${causes} /> `)}</dd>` : null}
      </dl>
    </section>`;
}

function position({ char_offset, token_offset }) {
  const parts = [];
  if (char_offset !== null && char_offset !== undefined) parts.push(`character ${count(char_offset)}`);
  if (token_offset !== null && token_offset !== undefined) parts.push(`token ${count(token_offset)}`);
  return parts.length ? `, ${parts.join(", ")}` : "";
}
