// The question to `tare query` whose answer has the figures that are shown.

import { NONE } from "./model.js";

/** A word of a shell. */
export function quoted(text) {
  return `'${text.replace(/'/g, "'\\''")}'`;
}

/** What the view is about: what is selected in it, else what it shows first; empty where nothing of that was measured. */
export function questionTo(model, view) {
  const { region, ranks, values } = model.state;
  if (region !== NONE && !model.regions.calls[region] && !model.regions.measured[region]) return "";
  const name = region === NONE ? "" : model.strings.names[region];
  const of = name && ` of ${name.includes('"') ? `'${name}'` : `"${name}"`}`;
  const on = ranks.length && model.header.ranks > 0 ? ` on ranks ${model.rankList()}` : "";
  const own = values === "difference" ? "correction" : "self";
  const asked = {
    ranks: of ? `${own}${of} by rank` : `${values === "difference" ? own : "time"} by rank`,
    waits: `waiting${of} by rank`,
    messages: model.isExchanged?.(region) && `messages, bytes, transmission and waiting${of} by peer`,
  };
  const figures = of ? `${own === "self" ? "self, time" : own} and count${of}` : `${own} by region top 10`;
  const mode = values === "measured" ? "--compensate off " : "";
  return `tare query ${quoted(model.header.directory)} ${mode}${quoted((asked[view] || figures) + on)}`;
}
