// The built-in engine: where its pages are, what they hold, and what was evicted.

import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { Pages } from "../chart.js";
import { Empty, Fact, Facts } from "../parts.js";
import { count, percent, plural, short } from "../format.js";

const KEPT = 300;  // samples of the curve

export function EngineView({ data: engine }) {
  const samples = useSamples(engine);
  if (!engine || engine.available === false) {
    return html`<h1>Engine</h1><${Empty}>This gateway forwards to another server; it has no engine of its own.<//>`;
  }
  const pages = engine.pages ?? {};
  const rate = engine.prefix_queries ? engine.prefix_hits / engine.prefix_queries : null;
  return html`
    <div class="heading"><h1>Engine</h1><span class="soft">${engine.model}${engine.healthy ? "" : " · not healthy"}</span></div>
    <${Facts} label="totals">
      <${Fact} label="prefix hit rate" value=${percent(rate)} note=${`${short(engine.prefix_hits)} of ${short(engine.prefix_queries)} tokens`} tone="good" />
      <${Fact} label="running" value=${count(engine.running)} note=${`${count(engine.waiting)} waiting`} />
      <${Fact} label="evicted pages" value=${count(engine.evicted_pages)} note=${plural(engine.preemptions, "preemption")} />
      <${Fact} label="prefill" value=${short(engine.prefill_tokens)} note=${`tokens computed; ${short(engine.generated_tokens)} generated`} />
    <//>
    <section aria-label="pages"><h2>Pages</h2>
      <div class="pages" role="img" aria-label=${`${count(pages.held)} pages in use, ${count(pages.cached)} evictable, ${count(pages.free)} free`}>
        <span class="held" style=${{ width: share(pages.held, pages.total) }}></span><span class="cached" style=${{ width: share(pages.cached, pages.total) }}></span></div>
      <ul class="key"><li class="held">${count(pages.held)} in use by running requests</li>
        <li class="cached">${count(pages.cached)} evictable: kept for reuse until room is needed</li>
        <li>${count(pages.free)} free</li><li class="none">${count(pages.total)} pages of ${plural(engine.page_size, "token")}</li></ul>
      <${Pages} samples=${samples} total=${pages.total} /></section>`;
}

function useSamples(engine) {
  const [samples, setSamples] = useState([sample(engine)]);
  useEffect(() => { setSamples((old) => [...old, sample(engine)].slice(-KEPT)); }, [engine]);
  return samples;
}

const sample = (engine) => ({ time: Date.now() / 1000, held: engine?.pages?.held ?? 0, cached: engine?.pages?.cached ?? 0 });
const share = (part, total) => `${total ? (100 * part) / total : 0}%`;
