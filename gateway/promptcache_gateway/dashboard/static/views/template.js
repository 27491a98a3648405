// One template: its causes with their remedies, and its last requests.

import { html } from "../vendor/preact-htm.js";
import { Card } from "../parts.js";
import { count, duration, money, percent } from "../format.js";
import { CauseTable } from "./overview.js";
import { RequestTable } from "./requests.js";

export function TemplateView({ template, requests, causes }) {
  const ttft = template.ttft_ms ?? {};
  return html`
    <h2><a href="#/">templates</a> / ${template.name}</h2>
    <section aria-label="totals" class="cards">
      <${Card} label="token hit rate" value=${percent(template.hit_rate)} note=${`ceiling ${percent(template.achievable_hit_rate)}`} tone="lead" />
      <${Card} label="lost tokens" value=${count(template.lost_tokens)} note=${money(template.lost_usd)} tone=${template.lost_tokens ? "warn" : ""} />
      <${Card} label="time to first token" value=${duration(ttft.hit)} note=${`${duration(ttft.miss)} on a miss`} />
      <${Card} label="requests" value=${count(template.requests)} note=${`${count(template.prompt_tokens)} prompt tokens`} />
    </section>
    <section><h3>Misses by cause</h3><${CauseTable} rows=${template.causes ?? []} causes=${causes} /></section>
    <section><h3>Last requests</h3><${RequestTable} requests=${requests} causes=${causes} /></section>`;
}
