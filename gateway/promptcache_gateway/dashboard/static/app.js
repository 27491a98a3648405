// Which view is shown, with what data; fetched again whenever the gateway says that something happened.

import { html, render, useEffect, useState } from "./vendor/preact-htm.js";
import { get, listen } from "./api.js";
import { Trouble } from "./parts.js";
import { EngineView } from "./views/engine.js";
import { Overview } from "./views/overview.js";
import { RequestView } from "./views/request.js";
import { TemplateView } from "./views/template.js";

const LAST = 50;

async function load(route) {
  const [kind, name] = route;
  if (kind === "requests" && name) return { request: await get(`requests/${encodeURIComponent(name)}`) };
  if (kind === "templates" && name) {
    const [template, requests] = await Promise.all([
      get(`templates/${encodeURIComponent(name)}`), get("requests", { template: name, limit: LAST })]);
    return { template, requests: requests.data };
  }
  if (kind === "engine") return { engine: await get("engine") };
  const [templates, requests] = await Promise.all([get("templates"), get("requests", { limit: LAST })]);
  return { templates: templates.data ?? templates, requests: requests.data };
}

function readRoute() {
  return location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
}

function App() {
  const [route, setRoute] = useState(readRoute());
  const [page, setPage] = useState({ key: null, data: null, error: null });
  const [causes, setCauses] = useState({});
  const [state, setState] = useState("connecting");
  const [turn, setTurn] = useState(0);
  const key = route.join("/");

  useEffect(() => {
    const moved = () => { setRoute(readRoute()); window.scrollTo(0, 0); };
    window.addEventListener("hashchange", moved);
    const stop = listen(() => setTurn((value) => value + 1), setState);
    get("causes").then((list) => setCauses(Object.fromEntries((list.data ?? list).map((cause) => [cause.code, cause])))).catch(() => {});
    return () => { window.removeEventListener("hashchange", moved); stop(); };
  }, []);

  useEffect(() => {
    let wanted = true;
    load(route).then(
      (data) => wanted && setPage({ key, data, error: null }),
      (error) => wanted && setPage({ key, data: null, error }));
    return () => { wanted = false; };
  }, [key, turn]);

  const current = page.key === key;
  return html`
    <${Header} route=${route} state=${state} />
    <main aria-busy=${!current}>
      ${!current ? html`<p class="empty">Loading…</p>`
        : page.error ? html`<${Trouble} error=${page.error} retry=${() => setTurn((value) => value + 1)} />`
        : html`<${View} route=${route} data=${page.data} causes=${causes} />`}
    </main>`;
}

function View({ data, causes }) {
  if (data.request) return html`<${RequestView} request=${data.request} causes=${causes} />`;
  if (data.template) return html`<${TemplateView} template=${data.template} requests=${data.requests} causes=${causes} />`;
  if ("engine" in data) return html`<${EngineView} engine=${data.engine} />`;
  return html`<${Overview} templates=${data.templates} requests=${data.requests} causes=${causes} />`;
}

function Header({ route, state }) {
  const here = (name) => (route[0] === name || (name === "" && !["engine"].includes(route[0])) ? "page" : null);
  const words = { live: "live", away: "connection lost, trying again", connecting: "connecting" };
  return html`
    <header><a class="brand" href="#/"><img src="dashboard/static/icon.svg" alt="" width="24" height="24" />promptcache</a>
      <nav aria-label="views"><a href="#/" aria-current=${here("")}>Templates</a><a href="#/engine" aria-current=${here("engine")}>Engine</a></nav>
      <span class="state ${state}" role="status">${words[state]}</span></header>`;
}

render(html`<${App} />`, document.getElementById("app"));
