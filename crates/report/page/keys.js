// Keys that work everywhere on the page.

import { NONE } from "./model.js";
import { byId, element } from "./dom.js";

export const HELP = [
  ["/", "search: words, /regular expression/, file: image: kind:"],
  ["n N", "next hit, hit before"],
  ["1 – 9", "go to a view"],
  ["m", "compensated, measured, difference"],
  ["↑ ↓ ← →", "move within a table, the icicle or the heat map; ← → fold"],
  ["Enter", "zoom into what is selected"],
  ["Esc", "zoom out, then select nothing"],
  ["[", "back to the view before in the icicle"],
  ["s", "source of what is selected"],
  ["r", "ranks: 0-3,8, host:NAME, max, slowest 8"],
  ["?", "this help"],
];

/** Listens for keys; `sections` are ids in their order. The icicle may still be to come. */
export function listenForKeys(views, sections, search) {
  const { model } = views;
  const go = (id) => {
    const section = byId(id);
    section?.scrollIntoView();
    // Arrows go on where there is something that they move in.
    const inside = [...(section?.querySelectorAll(".vtable, canvas[tabindex], .list") ?? [])].find((at) => at.checkVisibility());
    (inside ?? section)?.focus({ preventScroll: true });
  };
  document.addEventListener("keydown", (event) => {
    if (document.querySelector("dialog[open]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const cycle = { value: "measured", measured: "difference", difference: "value" };
    if (event.key === "/") search.focus();
    else if (event.key === "n" || event.key === "N") views.table.nextHit(event.key === "n" ? 1 : -1);
    else if (event.key === "m") model.change({ values: cycle[model.state.values] });
    else if (event.key === "s") go("source");
    else if (event.key === "r") byId("ranks-field")?.focus();
    else if (event.key === "[") views.icicle?.back();
    else if (event.key === "?") help();
    else if (event.key === "Escape") model.change(model.state.zoom !== undefined && model.state.zoom !== NONE ? { zoom: NONE } : { region: NONE, path: NONE, ranks: [] });
    else if (event.key >= "1" && event.key <= String(sections.length)) go(sections[Number(event.key) - 1]);
    else return;
    event.preventDefault();
  });
}

/** Shows the keys. */
export function help() {
  const dialog = element("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() });
  const rows = HELP.map(([key, text]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, key)), element("td", {}, text)));
  dialog.append(element("h2", {}, "Keys"), element("table", {}, ...rows), element("form", { method: "dialog" }, element("button", {}, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}
