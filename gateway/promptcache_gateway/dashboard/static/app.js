// Which view is shown, with what data; fetched again whenever the gateway says that something happened.

import { html, render, useEffect, useRef, useState } from "./vendor/preact-htm.js";
import { get, health, listen } from "./api.js";
import { Trouble } from "./parts.js";
import { link, readRoute } from "./route.js";
import { EngineView } from "./views/engine.js";
import { FleetsView } from "./views/fleets.js";
import { Nowhere } from "./views/nowhere.js";
import { Overview } from "./views/overview.js";
import { RequestView } from "./views/request.js";
import { RequestsView } from "./views/requests.js";
import { TemplateView } from "./views/template.js";
import { Undiagnosed } from "./views/undiagnosed.js";

const LAST = 20;
const FEW = 10;
const PAGE = 50;

// Each view with what it needs. `poll`: seconds after which it is fetched again though nothing was told.
const VIEWS = {
  overview: { title: "Overview", show: Overview, load: loadOverview },
  template: { title: (names) => names[1], show: TemplateView, load: loadTemplate },
  requests: { title: "Requests", show: RequestsView, load: (names, query) => get("requests", { ...query, limit: PAGE }) },
  request: { title: (names) => names[1], show: RequestView, load: (names) => get(`requests/${encodeURIComponent(names[1])}`), still: true },
  engine: { title: "Engine", show: EngineView, load: loadEngine, poll: 2 },
  fleets: { title: "Fleets", show: FleetsView, load: () => get("replicas"), poll: 2 },
  nowhere: { title: "Not found", show: Nowhere, load: async () => ({}), still: true },
};

function viewOf([kind, name, ...more]) {
  if (more.length) return "nowhere";
  if (kind === "templates") return name ? "template" : "overview";
  if (kind === "requests") return name ? "request" : "requests";
  if (name) return "nowhere";
  return { "": "overview", engine: "engine", fleets: "fleets" }[kind] ?? "nowhere";
}

async function loadOverview(names, { window }) {
  const recent = get("requests", { limit: FEW });
  const curves = (window ? Promise.resolve(window) : recent.then(fitting)).then((chosen) =>
    Promise.all([get("timeline", { window: chosen }), get("sparklines", { window: chosen })]));
  const [templates, requests, budgets, { upstreams }, [timeline, sparklines]] = await Promise.all([get("templates", { window }), recent,
    get("budgets").catch(() => []), health().catch(() => ({})), curves]);
  return { templates, requests: requests.data, timeline, sparklines, budgets, upstreams: upstreams ?? {}, window };
}

async function loadTemplate([, name], { window }) {
  const recent = get("requests", { template: name, limit: LAST });
  const curve = (window ? Promise.resolve(window) : recent.then(fitting)).then((chosen) => get("timeline", { template: name, window: chosen }));
  const [template, requests, divergences, timeline] = await Promise.all([
    get(`templates/${encodeURIComponent(name)}`, { window }), recent, get("divergences", { template: name }), curve]);
  return { template, requests: requests.data, divergences, timeline, window };
}

async function loadEngine() {
  const [engine, tree] = await Promise.all([get("engine"), get("engine/tree")]);
  return { ...engine, tree };
}

// The shortest window with the latest request in it: an empty curve tells nobody anything.
function fitting({ data: requests }) {
  const age = Date.now() / 1000 - (requests[0]?.time ?? 0);
  return age < 3000 ? "hour" : age < 80000 ? "day" : age < 600000 ? "week" : "month";
}

function App() {
  const [route, setRoute] = useState(readRoute());
  const [page, setPage] = useState({ key: null, data: null, error: null });
  const [causes, setCauses] = useState({});
  const [diagnosed, setDiagnosed] = useState(true);
  const [state, setState] = useState("connecting");
  const [turn, setTurn] = useState(0);
  const key = location.hash;
  const kind = viewOf(route.names);
  const view = VIEWS[kind];
  const loaded = useRef(Promise.resolve());
  const loads = useRef({ begun: 0, shown: 0 });
  const again = () => setTurn((value) => value + 1);
  // Not before what is under way is shown: the first look would wait for the second. Effects run a frame later.
  const look = () => loaded.current.then(() => new Promise((done) => { again(); setTimeout(() => loaded.current.then(done), 120); }));

  useEffect(() => {
    const moved = () => setRoute(readRoute());
    window.addEventListener("hashchange", moved);
    const stop = listen(look, setState);
    get("causes").then((list) => setCauses(Object.fromEntries(list.map((cause) => [cause.code, cause])))).catch(() => {});
    health().then(({ diagnosis }) => setDiagnosed(diagnosis !== "off")).catch(() => {});
    return () => { window.removeEventListener("hashchange", moved); stop(); };
  }, []);

  useEffect(() => {
    if (!view.poll) return undefined;
    const timer = setInterval(() => document.hidden || again(), view.poll * 1000);
    return () => clearInterval(timer);
  }, [kind]);

  useEffect(() => {
    if (view.still && page.key === key && page.data) return;
    const number = loads.current.begun += 1;
    const show = (next) => {
      if (location.hash !== key || number < loads.current.shown) return;
      loads.current.shown = number;
      setPage(next);
    };
    loaded.current = view.load(route.names, route.query).then(
      (data) => show({ key, kind, data, error: null }),
      (error) => show((old) => ({ key, kind, data: old.key === key && error.status !== 404 ? old.data : null, error })));
  }, [key, turn]);

  const place = route.names.join("/");
  useEffect(() => { window.scrollTo(0, 0); }, [place]);
  const title = typeof view.title === "function" ? view.title(route.names) : view.title;
  useEffect(() => { document.title = `${title} · promptcache`; }, [title]);

  const current = page.key === key;
  return html`
    <${Header} kind=${kind} state=${state} />
    <main id="main" tabindex="-1" aria-busy=${!current}>
      ${diagnosed ? null : html`<${Undiagnosed} />`}
      ${!current ? html`<h1 class="quiet">${title}</h1><p class="empty">Loading…</p>` : html`
        ${page.error ? html`<${Trouble} error=${page.error} title=${page.data ? null : title} stale=${Boolean(page.data)} retry=${again} />` : null}
        ${page.data ? html`<${view.show} data=${page.data} query=${route.query} causes=${causes} diagnosed=${diagnosed} />` : null}`}
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
