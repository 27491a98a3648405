// The gateway's own JSON: fetch it, and hear when it changes. Knows nothing of how it is shown.

const root = new URL("promptcache/v1/", document.baseURI);

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

export async function get(path, parameters = {}) {
  const url = new URL(path, root);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") url.searchParams.set(name, value);
  }
  return answer(url, { headers: { accept: "application/json" } });
}

// How the upstreams are, whatever the status it comes with.
export async function health() {
  const response = await fetch(new URL("health", document.baseURI), { headers: { accept: "application/json" } });
  return response.json();
}

export function send(path, body) {
  const headers = { accept: "application/json", "content-type": "application/json" };
  return answer(new URL(path, root), { method: "POST", headers, body: JSON.stringify(body) });
}

async function answer(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch {
    throw new ApiError("The gateway does not answer. Is it still running?", 0);
  }
  const body = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(body?.error?.message ?? `The gateway answered ${response.status}.`, response.status);
  return body;
}

// Calls onChange at most once a second while requests come in, and so rarely that looking takes a tenth of
// the time; it returns a promise of having looked. onState hears "live" or "away".
export function listen(onChange, onState) {
  const source = new EventSource(new URL("events", root));
  let timer = null;
  let pending = false;
  let closed = false;
  const fire = () => {
    timer = null;
    if (!pending) return;
    pending = false;
    const begun = performance.now();
    onChange().finally(() => {
      if (!closed) timer = setTimeout(fire, Math.max(1000, 9 * (performance.now() - begun)));
    });
    timer = 0;
  };
  const changed = () => {
    pending = true;
    if (timer === null) timer = setTimeout(fire, 50);
  };
  for (const name of ["request", "template", "alert"]) source.addEventListener(name, changed);
  source.addEventListener("open", () => { onState("live"); changed(); });
  source.addEventListener("error", () => onState("away"));
  return () => { closed = true; clearTimeout(timer); source.close(); };
}
