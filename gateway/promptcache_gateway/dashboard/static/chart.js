// Curves by uPlot: tokens over time in stacked bars, and the engine's pages. Colours are the sheet's.

import { html, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { count, known, money, percent, short, step } from "./format.js";
import { link } from "./route.js";
import { Table } from "./parts.js";

export const WINDOWS = { hour: "1 hour", day: "24 hours", week: "7 days", month: "30 days" };
const HEIGHT = 210;

// From the ground up: what was read, what was written, what was neither, what the upstream did not tell.
const LAYERS = [
  { name: "cached_tokens", label: "read from the cache", colour: "--hit" },
  { name: "cache_write_tokens", label: "written to it", colour: "--write", rare: true },
  { name: "uncached_tokens", label: "uncached", colour: "--rest" },
  { name: "unreported_tokens", label: "not reported", colour: "--unreported", rare: true },
];

export function Timeline({ timeline, names, heading }) {
  const [at, setAt] = useState(null);
  const columns = { ...timeline, unreported_tokens: timeline.prompt_tokens.map((all, i) => all - timeline.reported_prompt_tokens[i]) };
  const layers = LAYERS.filter(({ name, rare }) => !rare || columns[name].some(Boolean));  // many upstreams tell no writes
  const pick = (name) => (at === null ? total(columns[name]) : columns[name][at]);
  const when = at === null ? `in ${WINDOWS[timeline.window]}` : step(timeline.time[at], timeline.step_s);
  return html`
    <section>
      <div class="heading"><h2>${heading}</h2><${Windows} names=${names} chosen=${timeline.window} /></div>
      <${Stack} columns=${columns} layers=${layers} onPoint=${setAt} />
      <dl class="legend"><div class="when"><dt>${when}</dt><dd>${count(pick("requests"))} requests</dd></div>
        ${layers.map(({ name, label, colour }) => html`
          <div key=${name}><dt><i class="swatch" style=${{ background: `var(${colour})` }}></i>${label}</dt><dd>${short(pick(name))} tokens</dd></div>`)}
        <div><dt><i class="swatch lost-bar"></i>lost</dt><dd>${short(pick("lost_tokens"))} tokens, ${money(pick("lost_usd"))}</dd></div>
        <div><dt>net saved</dt><dd>${money(pick("saved_usd"))}</dd></div></dl>
      <details><summary>The same as a table</summary><${Numbers} columns=${columns} layers=${layers} /></details>
    </section>`;
}

const Windows = ({ names, chosen }) => html`
  <nav class="windows" aria-label="window of time">${Object.entries(WINDOWS).map(([name, label]) => html`
    <a key=${name} href=${link(names, { window: name })} aria-current=${name === chosen ? "true" : null}>${label}</a>`)}</nav>`;

function Numbers({ columns, layers }) {
  const shown = columns.time.map((time, at) => [time, at]).filter(([, at]) => columns.requests[at]).reverse();
  if (shown.length === 0) return html`<p class="empty">No request in this window.</p>`;
  return html`
    <${Table} label="tokens over time">
      <thead><tr><th scope="col">from</th><th scope="col" class="n">requests</th>${layers.map(({ label }) => html`<th scope="col" class="n">${label}, tokens</th>`)}
        <th scope="col" class="n">lost, tokens</th><th scope="col" class="n">lost</th><th scope="col">most to</th><th scope="col" class="n">net saved</th></tr></thead>
      <tbody>${shown.map(([time, at]) => html`
        <tr key=${time}><th scope="row">${step(time, columns.step_s)}</th><td class="n">${count(columns.requests[at])}</td>
          ${layers.map(({ name }) => html`<td class="n">${count(columns[name][at])}</td>`)}
          <td class="n">${count(columns.lost_tokens[at])}</td><td class="n">${money(columns.lost_usd[at])}</td><td>${costliest(columns.causes, at)}</td><td class="n">${money(columns.saved_usd[at])}</td></tr>`)}</tbody>
    <//>`;
}

// The code that most tokens of a step were lost to.
function costliest(causes, at) {
  const [code, told] = Object.entries(causes ?? {}).reduce((best, one) => (one[1].lost_tokens[at] > (best[1]?.lost_tokens[at] ?? 0) ? one : best), ["", null]);
  return told ? `${code}, ${count(told.lost_tokens[at])}` : "–";
}

function Stack({ columns, layers, onPoint }) {
  const sums = [];
  for (const { name } of layers) sums.push(columns[name].map((value, at) => value + (sums.at(-1)?.[at] ?? 0)));
  const empty = !columns.requests.some(Boolean);
  const rate = total(columns.reported_prompt_tokens) ? total(columns.cached_tokens) / total(columns.reported_prompt_tokens) : null;
  const label = empty ? "no request in this window"
    : `tokens over time: ${percent(rate)} of ${short(total(columns.prompt_tokens))} prompt tokens read from the cache, ${short(total(columns.lost_tokens))} lost`;
  const bars = window.uPlot.paths.bars({ size: [0.82, 40], align: 1 });
  const make = (colours, width) => ({
    ...frame(width, onPoint),
    scales: { x: { time: true, range: () => [columns.time[0], columns.time.at(-1) + columns.step_s] }, y: { range: (u, low, high) => [0, Math.max(high * 1.06, 1)] } },
    axes: [{ ...axis(colours), values: moments }, { ...axis(colours), size: 54, values: (u, ticks) => ticks.map((tick) => (tick % 1 ? "" : short(tick))) }],
    series: [{}, ...[...layers].reverse().map(({ label: name, colour }) => ({ label: name, fill: colours(colour), width: 0, paths: bars, points: { show: false } })),
      { label: "lost", fill: colours("--lost"), width: 0, paths: window.uPlot.paths.bars({ size: [0.16, 8], align: 1 }), points: { show: false } }],
  });
  return html`<${Plot} label=${label} make=${make} data=${[columns.time, ...sums.reverse(), columns.lost_tokens]} note=${empty ? "No request in this window." : null} />`;
}

// Pages of the engine since this page was opened.
export function Pages({ samples, total: most }) {
  const colour = { held: "--hit", cached: "--write" };
  const make = (colours, width) => ({
    ...frame(width, null),
    height: 150,
    scales: { x: { time: true }, y: { range: () => [0, most] } },
    axes: [{ ...axis(colours), values: moments }, { ...axis(colours), size: 54, values: (u, ticks) => ticks.map(short) }],
    series: [{}, { label: "in use and evictable", fill: colours(colour.cached), stroke: colours(colour.cached), width: 1, points: { show: false } },
      { label: "in use", fill: colours(colour.held), stroke: colours(colour.held), width: 1, points: { show: false } }],
  });
  const data = [samples.map((one) => one.time), samples.map((one) => one.held + one.cached), samples.map((one) => one.held)];
  const last = samples.at(-1);
  return html`<${Plot} label=${`pages since this page was opened: now ${count(last.held)} in use, ${count(last.cached)} evictable, of ${count(most)}`} make=${make} data=${data}
    note=${samples.length < 2 ? "Watching from now on." : null} />`;
}

const frame = (width, onPoint) => ({
  width, height: HEIGHT, legend: { show: false }, padding: [8, 18, 0, 0],
  cursor: { show: Boolean(onPoint), y: false, points: { show: false }, drag: { x: false, y: false } },
  hooks: onPoint ? { setCursor: [(u) => onPoint(u.cursor.idx ?? null)] } : {},
});

const axis = (colours) => ({
  stroke: colours("--soft"), font: "12px system-ui, sans-serif", gap: 6,
  grid: { stroke: colours("--line"), width: 1 }, ticks: { show: false },
});

// A day where one begins, else the time of day.
const moments = (u, ticks) => ticks.map((tick, at) => {
  if (tick % 1) return "";
  const date = new Date(tick * 1000);
  const day = date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  const time = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: tick % 60 ? "2-digit" : undefined });
  if (time === "00:00") return day;
  return at === 0 ? `${time}\n${day}` : time;
});

const total = (values) => {
  const told = values.filter(known);
  return told.length ? told.reduce((sum, value) => sum + value, 0) : null;
};

function Plot({ label, make, data, note }) {
  const place = useRef(null);
  const plot = useRef(null);
  const [turn, setTurn] = useState(0);
  const shape = `${turn} ${data.length} ${data[0].length} ${data[0][0]} ${label.slice(0, 5)}`;

  useEffect(() => {
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    const redraw = () => setTurn((value) => value + 1);
    scheme.addEventListener("change", redraw);
    const watch = new ResizeObserver(() => {
      const width = place.current?.clientWidth;
      if (plot.current && width && width !== plot.current.width) plot.current.setSize({ width, height: plot.current.height });
    });
    watch.observe(place.current);
    return () => { scheme.removeEventListener("change", redraw); watch.disconnect(); };
  }, []);

  useEffect(() => {
    const sheet = getComputedStyle(document.documentElement);
    plot.current = new window.uPlot(make((name) => sheet.getPropertyValue(name).trim(), place.current.clientWidth), data, place.current);
    return () => { plot.current.destroy(); plot.current = null; };
  }, [shape]);

  useEffect(() => { plot.current?.setData(data); });

  return html`<div class="plot" role="img" aria-label=${label}><div ref=${place}></div>${note ? html`<p class="empty">${note}</p>` : null}</div>`;
}
