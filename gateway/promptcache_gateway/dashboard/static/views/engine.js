// The built-in engine: where its pages are, what they hold, and what was evicted.

import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { Pages } from "../chart.js";
import { Empty, Fact, Facts } from "../parts.js";
import { count, percent, plural, short } from "../format.js";
import { toTemplate } from "../route.js";

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
      <${Pages} samples=${samples} total=${pages.total} /></section>
    <section><h2>Radix tree by template</h2><${Tree} tree=${engine.tree} /></section>`;
}

// What the latest prompts share, as the tree they are kept in.
function Tree({ tree }) {
  if (!tree?.branches.length) return html`<${Empty}>No prompt has gone through the engine since it started.<//>`;
  const longest = Math.max(...tree.branches.map(reach));
  return html`
    <p class="soft">The latest ${plural(tree.prompts, "prompt")}; each bar begins where its branch does. What older prompts left in the pages is not drawn.</p>
    <ul class="key"><li class="hit">cached now</li><li>evicted or not kept</li></ul>
    <div class="scroll" role="region" aria-label="radix tree" tabindex="0"><${Branches} branches=${tree.branches} longest=${longest} /></div>`;
}

const reach = (branch) => Math.max(branch.start + branch.tokens, ...branch.children.map(reach));

const Branches = ({ branches, longest, depth = 0 }) => html`
  <ul class="tree">${branches.map((branch, at) => html`
    <li key=${`${branch.start} ${branch.templates} ${at}`}><div class="branch">
        <span class="names" style=${{ paddingLeft: `${Math.min(depth, 8) * 0.9}rem` }}>${branch.templates.map((name, i) => html`${i ? ", " : ""}<a class="plain" href=${toTemplate(name)}>${name}</a>`)}
          <span class="soft"> ${branch.branches ? `${plural(branch.branches, "more branch").replace(/branchs$/, "branches")}` : plural(branch.prompts, "prompt")}</span></span>
        <span class="run" aria-hidden="true"><span style=${{ marginLeft: share(branch.start, longest), width: share(branch.tokens / (branch.branches ?? 1), longest) }}>
          <i class="hit" style=${{ width: share(branch.cached_tokens, branch.tokens) }}></i></span></span>
        <span class="n">${count(branch.cached_tokens)} of ${count(branch.tokens)} tokens cached</span></div>
      ${branch.children.length ? html`<${Branches} branches=${branch.children} longest=${longest} depth=${depth + 1} />` : null}</li>`)}</ul>`;

function useSamples(engine) {
  const [samples, setSamples] = useState([sample(engine)]);
  useEffect(() => { setSamples((old) => [...old, sample(engine)].slice(-KEPT)); }, [engine]);
  return samples;
}

const sample = (engine) => ({ time: Date.now() / 1000, held: engine?.pages?.held ?? 0, cached: engine?.pages?.cached ?? 0 });
const share = (part, total) => `${total ? (100 * part) / total : 0}%`;
