// Of what size messages are: a histogram as a table.

import { byteSize, count, share } from "./numbers.js";
import { element, figures } from "./dom.js";

/** Messages of the rows of a table by class of size: [label, messages] from the least class that has some to the greatest, and those whose size was not counted. */
function bySize(table, rows, ends) {
  const sum = (name) => (table[name] ? rows.reduce((sum, row) => sum + table[name][row], 0) : 0);
  const classes = Array.from({ length: ends.length + 1 }, (_, at) => [labelOf(at, ends), sum(`size_${at}`)]);
  const counted = classes.reduce((sum, [, messages]) => sum + messages, 0);
  const met = classes.map(([, messages]) => messages > 0);
  const between = classes.slice(met.indexOf(true), met.lastIndexOf(true) + 1);
  return counted ? [...between, ["not counted", sum("messages") - counted]] : [];
}

function labelOf(at, ends) {
  if (at === ends.length) return `more than ${byteSize(ends[at - 1])}`;
  return at ? `${byteSize(ends[at - 1])} to ${byteSize(ends[at])}` : `up to ${byteSize(ends[0])}`;
}

/** The histogram of some rows; nothing where no message was counted by size. */
export function histogram(caption, table, rows, ends) {
  const sizes = bySize(table, rows, ends);
  const all = sizes.reduce((sum, [, messages]) => sum + messages, 0);
  const bar = (part) => {
    const bar = element("i", { class: "bar-of", "aria-hidden": "true" });
    bar.style.width = `${100 * part}%`;
    return element("span", { class: "shared" }, bar, share(part));
  };
  const row = ([label, messages]) => element("tr", {}, element("th", { scope: "row" }, label), element("td", {}, count(messages)), element("td", { class: "size" }, bar(messages / all)));
  const shown = sizes.filter(([label, messages]) => label !== "not counted" || messages > 0);
  return shown.length ? figures([caption], ["Size", "Messages", "Share"], shown.map(row)) : "";
}
