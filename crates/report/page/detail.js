// What is selected, always in the same place.

import { alone, exactCount, share } from "./numbers.js";
import { NONE } from "./model.js";
import { exactly } from "./search.js";
import { pattern, questionTo, quoted } from "./question.js";
import { breakable, byId, copyText, element, kept, say } from "./dom.js";

const MOST_RELATIVES = 8;

/** The function that is selected where this region is measured; nothing where no selection decides on it. */
function functionOf(kind, name) {
  if (kind === "function") return name;
  const of = { loop: /^loop \d+ of (.+)$/s, iteration: /^iteration of loop \d+ of (.+)$/s, "call site": /^call \d+ (?:of .+ )?in (.+)$/s }[kind];
  return of?.exec(name)?.[1];
}

export class Detail {
  constructor(model) {
    this.model = model;
    this.root = byId("detail");
    model.listen((changed) => {
      if (["region", "path", "values", "ranks"].some((key) => changed.includes(key))) this.draw(changed.includes("region"));
    });
    new ResizeObserver(() => this.keepClear()).observe(this.root);
  }

  /** Nothing that is brought into sight comes to lie under the panel, where it lies over the views. */
  keepClear() {
    const { left, height } = this.root.getBoundingClientRect();
    document.documentElement.style.setProperty("--covered", `${left > 0 ? 0 : height}px`);
  }

  /** Goes into the panel, and back to where the reader was. */
  goOrReturn() {
    if (this.root.contains(document.activeElement)) this.leave();
    else if (!this.root.hidden) {
      this.from = document.activeElement;
      this.root.focus({ preventScroll: true });
    }
  }

  leave() {
    const back = this.from?.checkVisibility() && this.from !== document.body ? this.from : document.querySelector("#regions .vtable");
    back.focus({ preventScroll: true });
  }

  /** What has the focus may be drawn anew: it stays in the panel while that is there. */
  draw(isNew) {
    const hadFocus = this.root.contains(document.activeElement);
    this.fill(isNew);
    this.keepClear();
    if (hadFocus && this.root.hidden) this.leave();
    else if (hadFocus) this.root.focus({ preventScroll: true });
  }

  fill(isNew) {
    const { model } = this;
    const { region, path } = model.state;
    this.root.hidden = region === NONE && path === NONE;
    if (this.root.hidden) return;
    if (region === NONE) {
      this.root.replaceChildren(element("h2", {}, model.pathName(path)), element("p", {}, "Call paths that are too small to be carried one by one; here is their sum."));
      return;
    }
    const { regions, strings, divisor } = model;
    const facts = [];
    const whole = model.wholeOf(model.inclusive);
    const word = model.word() && `${model.word()}: `;
    const fact = (name, text) => text && facts.push(element("dt", {}, name), element("dd", {}, text));
    fact("Kind", model.kind(region));
    if (model.isOfRanks) fact("Times of", `${model.rankText()}${model.state.ranks.length > 1 ? ", mean" : ""}`);
    const place = regions.line[region] ? `${model.file(region)}:${regions.line[region]}` : model.file(region);
    fact("Place", place && element("button", { type: "button", class: "link", title: "copies it", onclick: () => copyText(place) }, place));
    if (place && kept("editor")) fact("Editor", element("a", { href: `${kept("editor")}${place}` }, "open"));
    fact("Image", strings.images[regions.image[region]]);
    const isMarked = regions.mark[region] > 0;
    const exclusive = alone(regions.value[region] / divisor, regions.below[region] / divisor, regions.above[region] / divisor, isMarked);
    fact("Exclusive", exclusive);
    if (isMarked) fact("†", `not to be trusted: ${model.mark(regions.mark[region])}`);
    fact("Measured", alone(regions.measured[region] / divisor));
    const off = (regions.measured[region] - regions.value[region]) / divisor;
    const each = regions.calls[region] ? `, ${alone((off * divisor) / regions.calls[region])} a call` : "";
    const longer = regions.measured_wait[region] ? "it would have taken longer unmeasured, as a wait that measuring shortened" : "so far it is unknown what its probes cost";
    const below = off < 0 ? `: ${longer}` : "";
    if (model.header.mode !== "off") fact("Taken off", `${alone(off)}${each}${below}`);
    fact("Inclusive", alone(regions.inclusive[region] / divisor, regions.inclusive_below[region] / divisor, regions.inclusive_above[region] / divisor));
    if (model.header.mode !== "off") fact("Incl. measured", alone(regions.measured_inclusive[region] / divisor));
    fact("Share", `${share(whole ? regions.value[region] / divisor / whole : 0)} of all time${model.isOfRanks ? " there" : ""}`);
    fact("Calls", `${exactCount(regions.calls[region])}${regions.inexact[region] ? " at least: not all were counted" : ""}`);
    if (regions.wait[region] || regions.measured_wait[region]) fact("Waiting", `${alone(regions.wait[region] / divisor)}, measured ${alone(regions.measured_wait[region] / divisor)}`);
    if (model.header.ranks > 1) {
      const spread = model.spread();
      const at = (which) => `${alone(spread[which][region])} (${strings.labels[spread[`${which}_at`][region]]})`;
      fact("Ranks", `${word}least ${at("least")}, mean ${alone(spread.mean[region])}, most ${at("most")}`);
    }
    if (model.state.ranks.length) fact("Selected", `${word}${model.rankText()}: ${this.onRanks?.(region) || "not among the regions that differ most, of which each rank's time is here"}`);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close", onclick: () => model.change({ region: NONE, path: NONE }) }, "×");
    const relatives = [["Callers", this.callers(region)], ["Callees", this.callees(region)]].map(([title, sums]) => this.relatives(model.word() ? `${title}, ${model.word()}` : title, sums));
    const parts = [element("h2", {}, ...breakable(model.name(region))), element("dl", {}, ...facts), this.narrow(region), ...relatives, this.copies(region)];
    this.root.replaceChildren(close, element("div", { class: "parts" }, ...parts.filter((part) => part !== null)));
    if (isNew) say(`${model.name(region)}, exclusive ${exclusive.replace("≈\u202f", "about ").replace(" †", ", not to be trusted")}`);
  }

  /** Regions that call this one, with the inclusive time that it takes for them. */
  callers(region) {
    const { tree } = this.model;
    return this.sums((path) => tree.region[path] === region && tree.parent[path] !== NONE, (path) => tree.region[tree.parent[path]]);
  }

  callees(region) {
    const { tree } = this.model;
    return this.sums((path) => tree.parent[path] !== NONE && tree.region[tree.parent[path]] === region, (path) => tree.region[path]);
  }

  /** Of paths that count and have the same key, one within another is part of it. */
  sums(counts, key) {
    const { tree } = this.model;
    const isWithin = (path) => {
      for (let above = tree.parent[path]; above !== NONE; above = tree.parent[above]) if (counts(above) && key(above) === key(path)) return true;
      return false;
    };
    const sums = new Map();
    for (let path = 0; path < tree.rows; path++) {
      if (counts(path) && !isWithin(path)) sums.set(key(path), (sums.get(key(path)) || 0) + this.model.pathInclusive(path));
    }
    return [...sums].sort((one, other) => other[1] - one[1]);
  }

  relatives(title, sums) {
    if (!sums.length) return null;
    const items = sums.slice(0, MOST_RELATIVES).map(([region, time]) =>
      element("li", {}, element("button", { type: "button", class: "link", disabled: region === NONE, onclick: () => this.model.selectRegion(region) }, ...breakable(this.model.name(region))), ` ${alone(time)}`),
    );
    const more = sums.length > MOST_RELATIVES ? element("li", {}, `${sums.length - MOST_RELATIVES} more`) : null;
    return element("div", {}, element("h3", {}, title), element("ul", { class: "relatives" }, ...items, more));
  }

  /** Narrows what is searched for to this region, or to all but it. */
  narrow(region) {
    const { model } = this;
    const search = (query) => {
      this.onNarrow();
      model.change({ query });
    };
    const name = exactly(model.strings.names[region]);
    const only = element("button", { type: "button", onclick: () => search(name) }, "only this");
    const hide = element("button", { type: "button", onclick: () => search(`${model.state.query} -${name}`.trim()) }, "hide this");
    return element("p", { class: "narrow" }, only, " ", hide);
  }

  /** Commands that say more of it. */
  copies(region) {
    const { model } = this;
    const copied = (title, line) => {
      const copy = element("button", { type: "button", onclick: () => copyText(line) }, "copy");
      return element("p", { class: "muted" }, title, " ", element("code", {}, line), " ", copy);
    };
    const question = questionTo(model);
    const figures = question ? copied("These figures:", question) : "";
    const name = functionOf(model.kind(region), model.fullName(region));
    const image = model.strings.images[model.regions.image[region]];
    // What another tool measured, its selection decided.
    if (!name || !image || model.header.is_foreign) return figures;
    const line = `tare select ${quoted(image)} --explain=${quoted(pattern(name))}`;
    return element("div", {}, figures, copied("Why is it measured?", line));
  }
}
