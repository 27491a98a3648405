// Where the reader is: the address behind "#", as a list of names and its parameters.

export function readRoute() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const names = path.split("/").map(decode);
  // A template's name may have been typed with its own slashes.
  if (names[0] === "templates" && names.length > 2) names.splice(1, names.length, names.slice(1).join("/"));
  return { names, query: Object.fromEntries(new URLSearchParams(query ?? "")) };
}

export function link(names, query = {}) {
  const kept = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(kept).toString();
  return `#/${names.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

export const toTemplate = (name, query) => link(["templates", name], query);
export const toRequest = (id) => link(["requests", id]);

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
