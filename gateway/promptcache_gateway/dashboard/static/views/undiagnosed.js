// Says that nobody looks at requests, so that an empty place is not taken for good news.

import { html } from "../vendor/preact-htm.js";

export const Undiagnosed = () => html`
  <div class="trouble" role="status"><p><b>Diagnosis is off.</b> Requests are forwarded, counted and recorded, and not looked at: no cause, loss or
    ceiling is known of them, and no template is learned. What is shown of these is from when it was on. It is turned on
    with <code>diagnosis = true</code> in <code>[serve]</code>, and a restart.</p></div>`;
