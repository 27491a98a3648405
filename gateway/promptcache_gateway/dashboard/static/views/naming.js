// What a template is called: give it another name, or make it a part of another template.

import { html, useEffect, useState } from "../vendor/preact-htm.js";
import { get, send } from "../api.js";
import { count } from "../format.js";
import { toTemplate } from "../route.js";

export function Naming({ name }) {
  const [open, setOpen] = useState(false);
  const [others, setOthers] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const [busy, setBusy] = useState(false);
  useEffect(() => { setOpen(false); setOthers(null); setTrouble(null); }, [name]);
  useEffect(() => {
    if (!open || others) return;
    get("templates").then((rows) => setOthers(rows.filter((row) => row.name !== name && !row.mixed)), setTrouble);
  }, [open]);

  const ask = (route, body, to) => (event) => {
    event.preventDefault();
    const wanted = to(new FormData(event.target));
    if (!wanted || busy) return;
    setBusy(true);
    setTrouble(null);
    send(`templates/${route}`, body(wanted))
      .then(() => { location.hash = toTemplate(wanted); }, setTrouble)
      .finally(() => setBusy(false));
  };
  return html`
    <details class="naming" open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>Rename or merge</summary>
      ${trouble ? html`<p class="verdict" role="alert">${trouble.message}</p>` : null}
      <form onSubmit=${ask("rename", (to) => ({ name, to }), (form) => form.get("to").trim())}>
        <label>another name <input name="to" maxlength="128" required autocomplete="off" key=${name} defaultValue=${name} /></label>
        <button disabled=${busy}>Rename</button></form>
      ${others?.length ? html`
        <form onSubmit=${ask("merge", (into) => ({ name, into }), (form) => form.get("into"))}>
          <label>a part of <select name="into" required>${others.map((row) => html`
            <option key=${row.name} value=${row.name}>${row.name} (${count(row.requests)})</option>`)}</select></label>
          <button disabled=${busy}>Merge</button></form>` : null}
      <p class="soft">What was recorded moves along, and requests to come are counted under the new name. Two templates that are merged cannot be told apart again.</p>
    </details>`;
}
