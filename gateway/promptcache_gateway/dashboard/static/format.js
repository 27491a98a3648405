// How numbers are written. Unknown is a dash, never a zero.

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const unknown = "–";
const known = (value) => value !== null && value !== undefined && !Number.isNaN(value);

export const count = (value) => (known(value) ? whole.format(value) : unknown);
export const short = (value) => (!known(value) ? unknown : value < 10000 ? whole.format(value) : compact.format(value));
export const percent = (rate) => (known(rate) ? `${(rate * 100).toFixed(1)} %` : unknown);
export const money = (usd) => (!known(usd) ? unknown : usd !== 0 && Math.abs(usd) < 0.01 ? `$${usd.toPrecision(2)}` : `$${usd.toFixed(2)}`);

export function duration(ms) {
  if (!known(ms)) return unknown;
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

export function clock(time) {
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  return Number.isNaN(date.getTime()) ? unknown : date.toLocaleTimeString("en-GB");
}

export function moment(time) {
  const date = new Date(typeof time === "number" ? time * 1000 : time);
  return Number.isNaN(date.getTime()) ? unknown : date.toLocaleString("en-GB");
}
