// Keys that work everywhere on the page.

import { NONE } from "./model.js";
import { questionTo } from "./question.js";
import { byId, copyText, element, keep, kept, say, turn } from "./dom.js";

export const HELP = [
  ["/", "search: words, /regular expression/, file: image: kind:, -what not; Enter goes to the first hit, Esc clears"],
  ["n N", "next hit, hit before"],
  ["1 – 9, 0", "go to a view"],
  ["m", "compensated, measured, difference"],
  ["↑ ↓ ← →", "move within a table or a picture; ← → fold"],
  ["Enter", "zoom into what is selected; among callers and callees it selects, among messages it chooses the pair"],
  ["Esc ⌫", "zoom out; Esc lets the chosen pair go, then selects nothing, and then searches nothing"],
  ["[ ]", "back and forward among what was zoomed into"],
  ["d", "details of what is selected, and back"],
  ["s", "source of what is selected"],
  ["r", "ranks: 0-3,8, host:NAME, max, slowest 8; Enter selects them, Esc all"],
  ["t", "table in the place of a picture, and back"],
  ["y", "copies the question to tare query that has these figures"],
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
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input:not([type=radio]), select")) {
      if (!event.isComposing) leave(event, views.table, search);
      return;
    }
    if (event.key === "/") write(search);
    else if (event.key === "n" || event.key === "N") views.table.nextHit(event.key === "n" ? 1 : -1);
    else if (event.key === "m") model.cycleValues();
    else if (event.key === "d") views.detail.goOrReturn();
    else if (event.key === "s") go("source");
    else if (event.key === "r") write(byId("ranks-field"));
    else if (event.key === "[") views.icicle?.back();
    else if (event.key === "]") views.icicle?.forward();
    else if (event.key === "t") turnNearest(views);
    else if (event.key === "y") copyQuestion(model);
    else if (event.key === "?") help();
    else if (event.key === "Escape" || event.key === "Backspace") {
      if (!views.icicle?.zoomOut() && event.key === "Escape") letGo(model);
    }
    else if (/^[0-9]$/.test(event.key)) go(sections[(Number(event.key) + 9) % 10]);
    else return;
    event.preventDefault();
  });
}

/** Copies the question that has the figures of the view which has the focus. */
function copyQuestion(model) {
  const question = questionTo(model, document.activeElement?.closest("section")?.id);
  if (question) copyText(question);
  else say("Nothing was measured there, so that no question has an answer.");
}

/** Selects nothing; where nothing is selected, searches nothing. */
function letGo(model) {
  const { region, path, ranks } = model.state;
  const isFree = region === NONE && path === NONE && !ranks.length;
  model.change(isFree ? { query: "" } : { region: NONE, path: NONE, ranks: [] });
}

/** Where the reader was before a field. */
let before = null;

/** Goes to a field, where there is one: what is typed takes the place of what stands there. */
function write(field) {
  if (field) before = document.activeElement;
  field?.focus();
  field?.select();
}

/** Enter and Escape leave a field: after what was written is done, which it stays for where that cannot be, or after it is cleared. */
function leave(event, table, search) {
  const { target: field, key } = event;
  const isText = field.matches("#search, #ranks-field");
  if (key !== "Escape" && !(key === "Enter" && isText)) return;
  event.preventDefault();
  if (isText) {
    if (key === "Escape") field.value = "";
    field.dispatchEvent(new Event("change"));
  }
  if (field.getAttribute("aria-invalid") === "true") return;
  field.blur();
  if (field === search && search.value) table.toFirstHit();
  else if (isText) (before?.checkVisibility() && before !== document.body ? before : table.table.root).focus({ preventScroll: true });
}

/** Turns the picture that has the focus, else the first that is seen, else the icicle. */
function turnNearest({ icicle, sandwich, heat }) {
  const pictures = [icicle, sandwich, heat].filter((view) => view?.frame);
  const at = (view) => (view.list.hidden ? view.frame : view.list).getBoundingClientRect();
  const hasFocus = (view) => [view.frame, view.list, view.asTable].some((part) => part.contains(document.activeElement));
  const isSeen = (view) => at(view).top < window.innerHeight && at(view).bottom > 0;
  const nearest = pictures.find(hasFocus) ?? pictures.find(isSeen) ?? pictures[0];
  if (nearest) turn(nearest);
}

/** Shows the keys. */
export function help() {
  const dialog = element("dialog", { "aria-label": "Keys", onclose: () => dialog.remove() });
  const rows = HELP.map(([key, text]) => element("tr", {}, element("th", { scope: "row" }, element("kbd", {}, key)), element("td", {}, text)));
  const editor = element("input", { type: "text", value: kept("editor"), placeholder: "vscode://file", onchange: () => keep("editor", editor.value.trim()) });
  const links = element("p", {}, element("label", {}, "Places are links, too, behind ", editor));
  dialog.append(element("h2", { tabindex: -1, autofocus: true }, "Keys"), element("table", {}, ...rows), links, element("form", { method: "dialog" }, element("button", {}, "Close")));
  document.body.append(dialog);
  dialog.showModal();
}
