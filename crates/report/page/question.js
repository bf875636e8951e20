// The question to `tare query` whose answer has the figures that are shown.

import { NONE } from "./model.js";
import { exactly } from "./search.js";

/** A word of a shell. */
export function quoted(text) {
  return `'${text.replace(/'/g, "'\\''")}'`;
}

/** A regular expression that finds exactly this name, written without blanks and without what cannot be shown. */
function expression(name) {
  return exactly(name).replace(/[^\p{L}\p{M}\p{N}\p{P}\p{S}]/gu, (character) => `\\x{${character.codePointAt(0).toString(16)}}`);
}

/** Whether all of a name can be seen where it is copied. */
function isShown(name) {
  return !/[\p{C}\p{Zl}\p{Zp}]/u.test(name);
}

/** A name in a question: between quotation marks, of a kind that it does not have; where there is none, as an expression. */
function named(name) {
  const mark = ['"', "'"].find((mark) => !name.includes(mark));
  return mark && isShown(name) ? mark + name + mark : expression(name);
}

/** A name as the pattern of an option. */
export function pattern(name) {
  return isShown(name) ? name : expression(name);
}

/** What the view is about: what is selected in it, else what it shows first; empty where nothing of that was measured. */
export function questionTo(model, view) {
  const { region, ranks, values } = model.state;
  if (region !== NONE && !model.regions.calls[region] && !model.regions.measured[region]) return "";
  const of = region === NONE ? "" : ` of ${named(model.fullName(region))}`;
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
