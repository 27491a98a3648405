// Fleets: which replica has how much to do, how well it is, what its cache holds, and what templates got of that.

import { html } from "../vendor/preact-htm.js";
import { Empty, Fact, Facts, Table } from "../parts.js";
import { clock, count, percent, plural, short } from "../format.js";
import { toTemplate } from "../route.js";

const TONES = { ready: "ok", full: "ok", down: "bad", ejected: "bad", draining: "calm", removed: "calm" };

export function FleetsView({ data }) {
  if (data.fleets.length === 0) return html`<h1>Fleets</h1><${Empty}>No upstream of this gateway has replicas.<//>`;
  return html`<h1>Fleets</h1>${data.fleets.map((fleet) => html`
    <${Fleet} key=${fleet.upstream} fleet=${fleet} templates=${data.templates.filter((row) => row.upstream === fleet.upstream)} />`)}`;
}

function Fleet({ fleet, templates }) {
  const { replicas } = fleet;
  const able = replicas.filter((one) => TONES[one.state] === "ok").length;
  const total = (name) => templates.reduce((sum, row) => sum + row[name], 0);
  const prompt = total("prompt_tokens");
  return html`
    <section aria-label=${`fleet ${fleet.upstream}`}>
      <div class="heading"><h2>${fleet.upstream}</h2><span class="soft">routed by ${fleet.routing}</span></div>
      <${Facts} label=${`totals of ${fleet.upstream}`}>
        <${Fact} label="hit rate" value=${percent(prompt ? total("delivered_tokens") / prompt : null)} note=${`${short(total("delivered_tokens"))} of ${short(prompt)} tokens`} tone="good" />
        <${Fact} label="replicas" value=${`${count(able)} of ${count(replicas.length)}`} note="may get requests" tone=${able < replicas.length ? "bad" : ""} />
        <${Fact} label="prefill used" value=${percent(fleet.utilisation)} note="over two minutes" />
        <${Fact} label="running" value=${count(replicas.reduce((sum, one) => sum + one.running, 0))} note=${`${count(fleet.waiting)} waiting for room; ${count(fleet.held)} were held for a cold prefix`} />
      <//>
      <h3>Replicas</h3><${Replicas} fleet=${fleet} />
      <h3>What templates got of the caches</h3>
      ${templates.length ? html`<${Templates} fleet=${fleet} rows=${templates} />` : html`<${Empty}>No request was counted yet.<//>`}
    </section>`;
}

function Replicas({ fleet }) {
  const most = Math.max(1, ...fleet.replicas.map(heldBy));
  return html`
    <${Table} label=${`replicas of ${fleet.upstream}`}>
      <thead><tr><th scope="col">replica</th><th scope="col">state</th><th scope="col" class="n">running</th>
        <th scope="col" class="n o1">backlog<span class="unit"> s</span></th><th scope="col" class="n o2">requests</th><th scope="col" class="n o2">failed</th>
        <th scope="col" class="n o2">prefill<span class="unit"> tokens/s</span></th><th scope="col" class="n">cache holds<span class="unit"> tokens</span></th>
        <th scope="col" class="wide o1">beside the others</th></tr></thead>
      <tbody>${fleet.replicas.map((one) => html`
        <tr key=${one.name}><th scope="row">${one.name}${place(one) ? html`<br /><span class="soft">${place(one)}</span>` : null}</th>
          <td><span class="chip ${TONES[one.state] ?? ""}">${one.state}</span>${trouble(one) ? html`<br /><span class="soft">${trouble(one)}</span>` : null}</td>
          <td class="n">${count(one.running)}${one.max_concurrency ? ` of ${count(one.max_concurrency)}` : ""}</td>
          <td class="n o1">${one.backlog_s.toFixed(2)}</td><td class="n o2">${count(one.requests)}</td><td class="n o2">${count(one.failures)}</td>
          <td class="n o2">${short(one.prefill_tokens_per_s)}</td>
          <td class="n">${isExact(one) ? "" : "≈ "}${short(heldBy(one))}</td>
          <td class="wide o1"><span class="bar" aria-hidden="true"><span class="hit" style=${{ width: `${(100 * heldBy(one)) / most}%` }}></span></span></td>
        </tr>`)}</tbody>
    <//>
    <p class="soft">What a cache holds is told by the replica's own events, or (≈) estimated from what was sent there.</p>`;
}

const isExact = (one) => Boolean(one.kv_events?.whole);
const heldBy = (one) => (isExact(one) ? one.kv_events.tokens : one.known_tokens);
const place = (one) => [one.account, one.region].filter(Boolean).join(" · ");

function trouble(one) {
  if (one.refusal) return `answers ${one.refusal} to what others answer`;
  if (one.state === "down") return one.checked_at ? `no answer at ${clock(one.checked_at)}` : "no answer";
  return one.state === "ejected" ? "left alone after failures in a row" : "";
}

const Templates = ({ fleet, rows }) => html`
  <${Table} label=${`templates of ${fleet.upstream}`}>
    <thead><tr><th scope="col">template</th><th scope="col" class="wide">delivered</th><th scope="col" class="n">prompt<span class="unit"> tokens</span></th>
      <th scope="col" class="n o1">cached anywhere</th><th scope="col" class="n o1">where it went</th><th scope="col" class="n">read</th>
      <th scope="col" class="n o2">short by routing</th><th scope="col" class="n o2">by eviction</th></tr></thead>
    <tbody>${rows.map((row) => html`
      <tr key=${row.template}><th scope="row"><a href=${toTemplate(row.template)}>${row.template}</a></th>
        <td class="wide"><span class="bar" role="img" aria-label=${said(row)}>
          <span class="hit" style=${{ width: share(row.delivered_tokens, row.prompt_tokens) }}></span>
          <span class="lost" style=${{ width: share(Math.max(0, row.available_tokens - row.delivered_tokens), row.prompt_tokens) }}></span></span></td>
        <td class="n">${short(row.prompt_tokens)}</td><td class="n o1">${short(row.available_tokens)}</td><td class="n o1">${short(row.chosen_tokens)}</td>
        <td class="n">${short(row.delivered_tokens)}</td><td class="n o2">${short(row.shortfall.routing)}</td><td class="n o2">${short(row.shortfall.eviction)}</td>
      </tr>`)}</tbody>
  <//>
  <p class="soft">Hatched: what some cache of the fleet held and the request did not read.</p>`;

const said = (row) => `${percent(row.prompt_tokens ? row.delivered_tokens / row.prompt_tokens : null)} of ${plural(row.prompt_tokens, "prompt token")} came from a cache`;
const share = (part, total) => `${total ? Math.min(100, (100 * part) / total) : 0}%`;
