// Two excerpts side by side, the characters that differ marked.

import { html } from "./vendor/preact-htm.js";

const LONGEST = 600;  // characters a side up to which single changes are looked for

export function Difference({ before, after }) {
  const pieces = compare([...before], [...after]);
  return html`
    <div class="difference">
      <${Side} label="earlier request" text=${before}>${marked(pieces, 0, "del")}<//>
      <${Side} label="this request" text=${after}>${marked(pieces, 1, "ins")}<//>
    </div>`;
}

const Side = ({ label, text, children }) => html`
  <figure><figcaption>${label}</figcaption>
    ${text ? html`<pre tabindex="0" role="group" aria-label=${label}>${children}</pre>` : html`<p class="soft">Nothing stands here.</p>`}</figure>`;

const marked = (pieces, side, tag) => pieces.map((piece) => {
  const text = piece[side];
  if (!text) return null;
  return piece[0] === piece[1] ? text : html`<${tag}>${text}<//>`;
});

// Pieces [earlier, later], equal or different. What both have at their ends is cut off first.
export function compare(earlier, later) {
  const limit = Math.min(earlier.length, later.length);
  let head = 0;
  while (head < limit && earlier[head] === later[head]) head += 1;
  let tail = 0;
  while (tail < limit - head && earlier[earlier.length - 1 - tail] === later[later.length - 1 - tail]) tail += 1;
  const left = earlier.slice(head, earlier.length - tail);
  const right = later.slice(head, later.length - tail);
  const ends = [earlier.slice(0, head).join(""), earlier.slice(earlier.length - tail).join("")];
  const middle = left.length <= LONGEST && right.length <= LONGEST ? tidy(align(left, right)) : [[left.join(""), right.join("")]];
  return [[ends[0], ends[0]], ...middle, [ends[1], ends[1]]].filter(([one, other]) => one || other);
}

// The longest common subsequence, as runs of equal and of different characters.
function align(left, right) {
  const width = right.length + 1;
  const table = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      table[i * width + j] = left[i] === right[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const pieces = [];
  const put = (one, other) => {
    const last = pieces.at(-1);
    const same = one === other;
    if (last && last.same === same) { last.one += one; last.other += other; } else pieces.push({ same, one, other });
  };
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) { put(left[i], right[j]); i += 1; j += 1; }
    else if (j >= right.length || (i < left.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) { put(left[i], ""); i += 1; }
    else { put("", right[j]); j += 1; }
  }
  return pieces;
}

// Islands of a character or two between two changes are chance: a reader sees one change.
function tidy(pieces) {
  const found = [];
  pieces.forEach((piece, at) => {
    const island = piece.same && piece.one.length <= 2 && at > 0 && at < pieces.length - 1;
    const last = found.at(-1);
    if (last && !last.same && (island || !piece.same)) { last.one += piece.one; last.other += piece.other; }
    else found.push({ ...piece });
  });
  return found.map(({ one, other }) => [one, other]);
}
