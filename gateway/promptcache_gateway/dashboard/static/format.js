// How numbers are written. Unknown is a dash, never a zero; an estimate has its sign in front.

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const cents = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
const unknown = "–";

export const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

export const count = (value) => (known(value) ? whole.format(Math.round(value)) : unknown);
export const short = (value) => (!known(value) ? unknown : Math.abs(value) < 10000 ? count(value) : compact.format(value));
export const percent = (rate) => (known(rate) ? `${(rate * 100).toFixed(1)} %` : unknown);
export const times = (factor) => (known(factor) ? `${factor.toFixed(factor < 10 ? 2 : 0)} ×` : unknown);
export const about = (text, estimated) => (estimated && text !== unknown ? `≈ ${text}` : text);
export const plural = (value, noun, ending = "s") => `${count(value)} ${noun}${value === 1 ? "" : ending}`;

export function money(usd) {
  if (!known(usd)) return unknown;
  const size = Math.abs(usd);
  const text = size !== 0 && size < 0.01 ? size.toPrecision(2) : size >= 10000 ? compact.format(size) : cents.format(size);
  return `${usd < 0 ? "−" : ""}$${text}`;
}

export function duration(ms) {
  if (!known(ms)) return unknown;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

const dateOf = (time) => new Date(typeof time === "number" ? time * 1000 : time);

// The time of day; with the day where that is another than today.
export function clock(time) {
  const date = dateOf(time);
  if (Number.isNaN(date.getTime())) return unknown;
  const day = date.toDateString() === new Date().toDateString() ? "" : `${date.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} `;
  return day + date.toLocaleTimeString("en-GB");
}

export function moment(time) {
  const date = dateOf(time);
  return Number.isNaN(date.getTime()) ? unknown
    : date.toLocaleString("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
}

// A step of a curve: the minute of an hour, the hour of a day, the day of a month.
export function step(time, seconds) {
  const date = dateOf(time);
  if (seconds >= 86400) return date.toLocaleDateString("en-GB", { day: "numeric", month: "short" });
  return date.toLocaleString("en-GB", { weekday: "short", hour: "2-digit", minute: "2-digit" });
}
