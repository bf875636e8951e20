// Reads the data that the page carries and starts the views.

import { inTurn, texts } from "./columns.js";
import { Model, NONE } from "./model.js";
import { plural } from "./numbers.js";
import { byId, complain, element, field, say, themeSwitch } from "./dom.js";
import { Regions } from "./regions.js";
import { Icicle } from "./icicle.js";
import { Sandwich } from "./sandwich.js";
import { Heat } from "./heat.js";
import { Matrix } from "./matrix.js";
import { Detail } from "./detail.js";
import { SourceView } from "./source.js";
import { Marks } from "./waits.js";
import { Summary } from "./summary.js";
import { help, listenForKeys } from "./keys.js";

const VIEWS = ["summary", "regions", "icicle", "ranks", "waits", "messages", "classes", "trust", "source", "about"];

/** Values, search and help. */
function controls(model) {
  const search = element("input", { type: "search", id: "search", placeholder: "search  /", "aria-label": "Search regions" });
  let waiting;
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => model.change({ query: search.value.trim() }), 120);
  });
  search.addEventListener("change", () => model.change({ query: search.value.trim() }));
  model.listen((changed) => {
    if (!changed.includes("query")) return;
    const { query } = model.state;
    if (search.value.trim() !== query) search.value = query;
    complain(search, model.hits.error || (query && !model.hits.number ? "no region matches" : ""));
  });
  const names = [["value", "compensated"], ["measured", model.header.is_exported ? "as exported" : "measured"], ["difference", "difference"]];
  const radios = names.filter(([value]) => model.offered.includes(value)).map(([value, label]) => {
    const input = element("input", { type: "radio", name: "values", value, checked: model.state.values === value, onchange: () => model.change({ values: value }) });
    return element("label", {}, input, ` ${label}`);
  });
  model.listen((changed) => {
    if (changed.includes("values")) radios.forEach((label) => (label.firstChild.checked = label.firstChild.value === model.state.values));
  });
  const values = element("fieldset", { class: "values" }, element("legend", { class: "unseen" }, "Values"), ...radios);
  const ranks = element("input", { type: "text", id: "ranks-field", size: 9, placeholder: "ranks  r", "aria-label": "Ranks that are selected, such as 0-3,8" });
  ranks.addEventListener("change", () => tellRanks(model, model.selectRanks(ranks.value)));
  // What is left there are the ranks whose figures are shown.
  ranks.addEventListener("blur", () => {
    if (ranks.getAttribute("aria-invalid") !== "true") return;
    ranks.value = model.rankList();
    complain(ranks, byId("ranks-field-wrong").textContent, true);
  });
  model.listen((changed) => {
    if (!changed.includes("ranks")) return;
    ranks.value = model.rankList();
    complain(ranks, "");
  });
  const questions = element("button", { type: "button", "aria-label": "Keys", onclick: help }, "?");
  byId("controls").append(values, field(search), ...(model.strings.labels.length > 1 ? [field(ranks)] : []), themeSwitch(() => model.tell(["theme"])), questions);
  return search;
}

/** Tells which ranks are selected, and what was asked for and is not there. */
function tellRanks(model, wrong) {
  const shown = model.state.ranks.length ? model.rankText() : "";
  complain(byId("ranks-field"), wrong && `${wrong}; shown: ${shown || "all ranks"}`);
  say(wrong || (shown ? `${shown} selected` : "all ranks"));
}

/** The address carries what is selected, so that it can be passed on. */
function followAddress(model) {
  let isReading = false;
  const read = () => {
    isReading = true;
    readAll();
    isReading = false;
  };
  const readAll = () => {
    const query = new URLSearchParams(location.hash.split("?")[1] || "");
    const region = Number(query.get("region") ?? NONE);
    const path = Number(query.get("path") ?? NONE);
    // Another page of the run may count its call paths otherwise.
    if (path < model.tree.rows && model.tree.region[path] === region) model.selectPath(path);
    else if (region < model.regions.rows) model.selectRegion(region);
    const wrong = query.get("ranks") && model.selectRanks(query.get("ranks"));
    if (wrong && byId("ranks-field")) tellRanks(model, wrong);
    if (model.offered.includes(query.get("values"))) model.change({ values: query.get("values") });
    const zoom = Number(query.get("zoom") ?? NONE);
    model.change({ zoom: zoom < model.tree.rows ? zoom : NONE });
    const view = location.hash.slice(1).split("?")[0];
    if (location.hash.includes("?") && VIEWS.includes(view)) byId(view).scrollIntoView();
  };
  model.listen((changed) => {
    if (isReading || !["region", "path", "values", "ranks", "zoom"].some((key) => changed.includes(key))) return;
    const query = new URLSearchParams();
    if (model.state.region !== NONE) query.set("region", model.state.region);
    if (model.state.path !== NONE) query.set("path", model.state.path);
    if (model.state.ranks.length) query.set("ranks", model.rankList());
    if (model.state.values !== model.offered[0]) query.set("values", model.state.values);
    if (model.state.zoom !== NONE) query.set("zoom", model.state.zoom);
    // The browser's own way back leads through what was zoomed into.
    const keep = changed.includes("zoom") ? "pushState" : "replaceState";
    history[keep](null, "", `#${changed.includes("zoom") ? "icicle" : "regions"}?${query}`);
  });
  window.addEventListener("popstate", read);
  read();
}

/** Rows of the summary and of waits select their region: all of it, as they are about all its call paths. */
function linkRows(model, table) {
  for (const row of document.querySelectorAll("#summary [data-region], #waits [data-region]")) {
    const select = () => {
      table.setShape("flat");
      model.selectRegion(Number(row.dataset.region));
      byId("regions").scrollIntoView();
    };
    const name = row.querySelector("th span, .where");
    // Read aloud, each says what it shows; the head of its row stays the name alone.
    row.querySelector("th")?.setAttribute("aria-label", row.querySelector("th").textContent);
    const button = element("button", { type: "button", class: "show", "aria-label": `show ${name?.textContent ?? ""}`, onclick: select }, "show");
    name?.after(" ", button);
  }
}

/** Lets the browser show what stands, and do what the reader asks for, before the next piece of work. */
function breathe() {
  return new Promise((resolve) => setTimeout(resolve));
}

/** The table of regions and what the keys do come first; the pictures further down follow one by one. */
async function start() {
  const data = JSON.parse(byId("data").textContent);
  const { value, measured, difference } = data.spreads;
  const strings = await texts(data.strings);
  delete data.strings;
  const [tree, regions, times, ...spreads] = await inTurn([data.tree, data.regions, data.times, value, measured, difference]);
  const model = new Model(data, tree, regions, strings, spreads);
  if (model.ofRanks.isSmall) await model.ofRanks.load();
  if (!tree.rows) {
    document.documentElement.dataset.ready = "nothing";
    return;
  }
  for (const part of document.querySelectorAll(".filled")) part.hidden = false;
  const search = controls(model);
  const detail = new Detail(model);
  const table = new Regions(model);
  if (data.folded_paths) byId("regions").append(element("p", { class: "muted" }, `${plural(data.folded_paths, "small call path is", "small call paths are")} folded into the callers' rows “small call paths”: sums and counts are whole.`));
  const views = { model, table, detail };
  window.tare = views;
  listenForKeys(views, VIEWS, search);
  linkRows(model, table);
  new Marks(model);
  new Summary(model, times);
  performance.mark("first view");
  await breathe();
  views.icicle = new Icicle(model);
  views.sandwich = new Sandwich(model, views.icicle.paints);
  views.source = new SourceView(model, detail);
  views.heat = new Heat(model, data.heat);
  views.matrix = new Matrix(model, data.matrix);
  detail.onNarrow = () => table.setShape("flat");
  detail.onRanks = (region) => views.heat.onRanks(region);
  for (const view of [views.heat, views.matrix]) {
    await breathe();
    await view.start();
  }
  followAddress(model);
  document.documentElement.dataset.ready = "yes";
}

start().catch((error) => {
  say(`The views cannot be shown: ${error.message}`);
  byId("status").classList.add("note", "bad");
  console.error(error);
});
