// Which view is shown, with what data; fetched again whenever the gateway says that something happened.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { get, health, listen } from "./api.js";
import { Trouble } from "./parts.js";
import { link, readRoute } from "./route.js";
import { EngineView } from "./views/engine.js";
import { FleetsView } from "./views/fleets.js";
import { Overview } from "./views/overview.js";
import { RequestView } from "./views/request.js";
import { RequestsView } from "./views/requests.js";
import { TemplateView } from "./views/template.js";

const LAST = 20;
const PAGE = 50;

// Each view with what it needs. `poll`: seconds after which it is fetched again though nothing was told.
const VIEWS = {
  overview: { title: "Overview", show: Overview, load: loadOverview },
  template: { title: (names) => names[1], show: TemplateView, load: loadTemplate },
  requests: { title: "Requests", show: RequestsView, load: (names, query) => get("requests", { ...query, limit: PAGE }) },
  request: { title: (names) => names[1], show: RequestView, load: (names) => get(`requests/${encodeURIComponent(names[1])}`), still: true },
  engine: { title: "Engine", show: EngineView, load: loadEngine, poll: 2 },
  fleets: { title: "Fleets", show: FleetsView, load: () => get("replicas"), poll: 2 },
};

function viewOf([kind, name]) {
  if (kind === "templates" && name) return "template";
  if (kind === "requests") return name ? "request" : "requests";
  return kind === "engine" || kind === "fleets" ? kind : "overview";
}

async function loadOverview(names, { window }) {
  const [templates, requests, budgets, { upstreams }] = await Promise.all([get("templates"), get("requests", { limit: LAST }),
    get("budgets").catch(() => []), health().catch(() => ({}))]);
  const chosen = window ?? fitting(templates);
  const [timeline, sparklines] = await Promise.all([get("timeline", { window: chosen }), get("sparklines", { window: chosen })]);
  return { templates, requests: requests.data, timeline, sparklines, budgets, upstreams: upstreams ?? {} };
}

async function loadTemplate([, name], { window }) {
  const [template, requests, divergences] = await Promise.all([
    get(`templates/${encodeURIComponent(name)}`), get("requests", { template: name, limit: LAST }),
    get("divergences", { template: name })]);
  const timeline = await get("timeline", { template: name, window: window ?? fitting([template]) });
  return { template, requests: requests.data, divergences, timeline };
}

async function loadEngine() {
  const [engine, tree] = await Promise.all([get("engine"), get("engine/tree")]);
  return { ...engine, tree };
}

// The shortest window with the latest request in it: an empty curve tells nobody anything.
function fitting(templates) {
  const age = Date.now() / 1000 - Math.max(0, ...templates.map((row) => row.last_seen));
  return age < 3000 ? "hour" : age < 80000 ? "day" : age < 600000 ? "week" : "month";
}

function App() {
  const [route, setRoute] = useState(readRoute());
  const [page, setPage] = useState({ key: null, data: null, error: null });
  const [causes, setCauses] = useState({});
  const [state, setState] = useState("connecting");
  const [turn, setTurn] = useState(0);
  const key = location.hash;
  const kind = viewOf(route.names);
  const view = VIEWS[kind];
  const loaded = useRef(Promise.resolve());
  const again = () => setTurn((value) => value + 1);
  const look = () => new Promise((done) => { again(); setTimeout(() => loaded.current.finally(done), 120); });  // effects run a frame later

  useEffect(() => {
    const moved = () => setRoute(readRoute());
    window.addEventListener("hashchange", moved);
    const stop = listen(look, setState);
    get("causes").then((list) => setCauses(Object.fromEntries(list.map((cause) => [cause.code, cause])))).catch(() => {});
    return () => { window.removeEventListener("hashchange", moved); stop(); };
  }, []);

  useEffect(() => {
    if (!view.poll) return undefined;
    const timer = setInterval(() => document.hidden || again(), view.poll * 1000);
    return () => clearInterval(timer);
  }, [kind]);

  useEffect(() => {
    let wanted = true;
    if (view.still && page.key === key && page.data) return undefined;
    loaded.current = view.load(route.names, route.query).then(
      (data) => wanted && setPage({ key, kind, data, error: null }),
      (error) => wanted && setPage((old) => ({ key, kind, data: old.key === key && error.status !== 404 ? old.data : null, error })));
    return () => { wanted = false; };
  }, [key, turn]);

  const place = route.names.join("/");
  useEffect(() => { window.scrollTo(0, 0); }, [place]);
  const title = typeof view.title === "function" ? view.title(route.names) : view.title;
  useEffect(() => { document.title = `${title} · promptcache`; }, [title]);

  const current = page.key === key;
  return html`
    <${Header} kind=${kind} state=${state} />
    <main id="main" tabindex="-1" aria-busy=${!current}>
      ${!current ? html`<h1 class="quiet">${title}</h1><p class="empty">Loading…</p>` : html`
        ${page.error ? html`<${Trouble} error=${page.error} title=${page.data ? null : title} stale=${Boolean(page.data)} retry=${again} />` : null}
        ${page.data ? html`<${view.show} data=${page.data} query=${route.query} causes=${causes} />` : null}`}
    </main>`;
}

function toMain(event) {
  event.preventDefault();
  document.getElementById("main").focus();
}

function Header({ kind, state }) {
  const here = (...kinds) => (kinds.includes(kind) ? "page" : null);
  const words = { live: "live", away: "connection lost, trying again", connecting: "connecting" };
  return html`
    <header><a class="skip" href=${location.hash || "#/"} onClick=${toMain}>Skip to the content</a><a class="brand" href="#/"><img src="dashboard/static/icon.svg" alt="" width="22" height="22" />promptcache</a>
      <nav aria-label="views"><a href="#/" aria-current=${here("overview", "template")}>Templates</a>
        <a href=${link(["requests"])} aria-current=${here("requests", "request")}>Requests</a>
        <a href=${link(["engine"])} aria-current=${here("engine")}>Engine</a>
        <a href=${link(["fleets"])} aria-current=${here("fleets")}>Fleets</a></nav>
      <span class="state ${state}" role="status">${words[state]}</span></header>`;
}

render(html`<${App} />`, document.getElementById("app"));
