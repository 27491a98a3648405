// The built-in engine: where its pages are.

import { html } from "../vendor/preact-htm.js";
import { Card, Empty } from "../parts.js";
import { count, percent } from "../format.js";

export function EngineView({ engine }) {
  if (!engine || engine.available === false) {
    return html`<h2>Engine</h2><${Empty}>This gateway forwards to another server; it has no engine of its own.<//>`;
  }
  const pages = engine.pages ?? {};
  const total = pages.total ?? 0;
  const rate = engine.prefix_queries ? engine.prefix_hits / engine.prefix_queries : null;
  return html`
    <h2>Engine</h2>
    <section aria-label="totals" class="cards">
      <${Card} label="prefix hit rate" value=${percent(rate)} note=${`${count(engine.prefix_hits)} of ${count(engine.prefix_queries)} tokens`} tone="lead" />
      <${Card} label="running" value=${count(engine.running)} note=${`${count(engine.waiting)} waiting`} />
      <${Card} label="evicted pages" value=${count(engine.evicted_pages)} note=${`${count(engine.preemptions)} preemptions`} />
      <${Card} label="page size" value=${count(engine.page_size)} note="tokens a page" />
    </section>
    <section><h3>Pages</h3>
      <svg class="pages" viewBox="0 0 100 8" preserveAspectRatio="none" role="img"
        aria-label=${`${count(pages.held)} pages in use, ${count(pages.cached)} cached, ${count(pages.free)} free`}>
        <rect class="free" width="100" height="8" />
        <rect class="cached" width=${share(pages.held + pages.cached, total)} height="8" />
        <rect class="held" width=${share(pages.held, total)} height="8" />
      </svg>
      <ul class="legend"><li class="held">${count(pages.held)} in use by running requests</li>
        <li class="cached">${count(pages.cached)} cached, reused on a hit, evicted when room is needed</li>
        <li class="free">${count(pages.free)} free</li></ul></section>`;
}

const share = (part, total) => (total ? (100 * part) / total : 0);
