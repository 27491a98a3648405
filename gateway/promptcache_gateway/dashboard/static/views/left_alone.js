// Which upstreams failed so often in a row that they get no calls for a moment, and how that ends.

import { html } from "../vendor/preact-htm.js";
import { moment, plural } from "../format.js";

export function LeftAlone({ upstreams }) {
  const alone = Object.entries(upstreams).filter(([, upstream]) => upstream.left_alone);
  return alone.length === 0 ? null : html`
    <div class="trouble" role="status">${alone.map(([name, { left_alone: how }]) => html`
      <p key=${name}>The upstream <b>${name}</b> has been left alone since ${moment(how.since)}, after ${plural(how.failures, "failure")} in a row. ${outlook(how)}</p>`)}</div>`;
}

// Nothing that is wrong a second later: the page looks again when a request ends, not when time passes.
function outlook({ probing, next_try_s: wait }) {
  if (probing) return "A call is finding out now whether it answers again.";
  return wait > 0 ? "Its calls are refused, or go elsewhere, until one may find out whether it answers again."
    : "The next call finds out whether it answers again.";
}
