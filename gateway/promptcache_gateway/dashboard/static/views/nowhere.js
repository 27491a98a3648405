// An address that is none of this page's.

import { html } from "../vendor/preact-htm.js";

export const Nowhere = () => html`
  <h1>Not found</h1>
  <p class="soft">There is no page at <code>${decoded(location.hash)}</code> here.</p>
  <p><a href="#/">All templates</a></p>`;

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
