// The summary stands without a script and is of all ranks: where ranks are selected, the table of its regions and its bars are theirs.
// It has compensated times beside measured ones, whatever values are chosen, and says so where others are.

import { alone, columnFor, count, figure, plain, share } from "./numbers.js";
import { byId, element } from "./dom.js";

export class Summary {
  constructor(model, times) {
    Object.assign(this, { model, times });
    this.note = element("p", { class: "line", id: "summary-line", hidden: true });
    byId("summary").querySelector(".lead")?.before(this.note);
    this.bars = [...document.querySelectorAll("#summary .strip rect")];
    const cells = (row) => new Map([...row.querySelectorAll("td[data-of]")].map((cell) => [cell.dataset.of, cell]));
    this.rows = [...document.querySelectorAll("#summary tr[data-region]")].map((row) => ({ region: Number(row.dataset.region), cells: cells(row) }));
    const { regions } = model.all;
    const largest = this.rows.map(({ region }) => Math.max(Math.abs(regions.value[region]), Math.abs(regions.measured[region])));
    this.column = columnFor(Math.max(0, ...largest) / model.header.divisor);
    // What stands there of all ranks.
    this.stood = this.rows.map(({ cells }) => new Map([...cells].map(([name, cell]) => [name, [...cell.childNodes]])));
    this.values = element("span", { class: "muted", id: "summary-values", hidden: true });
    byId("top-h")?.append(this.values);
    model.listen((changed) => changed.includes("ranks") && this.draw());
    model.listen((changed) => changed.includes("values") && this.tellValues());
  }

  draw() {
    const { model } = this;
    const { ranks } = model.state;
    const isSome = ranks.length > 0 && ranks.length < model.strings.labels.length;
    this.note.hidden = !isSome;
    this.note.textContent = isSome ? this.words(ranks) : "";
    const each = model.strings.labels.length / this.bars.length;
    const marked = new Set(isSome ? ranks.map((process) => Math.floor(process / Math.ceil(each))) : []);
    this.bars.forEach((bar, place) => bar.classList.toggle("selected", marked.has(place)));
    this.bars[0]?.closest(".strip").classList.toggle("some", isSome);
    this.rows.forEach(({ region, cells }, place) => {
      if (model.isOfRanks) this.show(region, cells);
      else for (const [name, cell] of cells) cell.replaceChildren(...this.stood[place].get(name));
    });
  }

  /** The values of the table, where others are chosen. */
  tellValues() {
    const { values } = this.model.state;
    this.values.hidden = values === this.model.offered[0];
    this.values.textContent = values === "difference" ? " – compensated beside measured; their difference stands in Regions" : " – compensated beside measured";
  }

  /** What the selected ranks took, and what of the summary is theirs. */
  words(ranks) {
    const { model, times } = this;
    const slowest = ranks.reduce((most, process) => (times.value[process] > times.value[most] ? process : most));
    const whose = ranks.length === 1 ? model.rankText() : `${model.rankText()}, the slowest ${model.strings.labels[slowest]}`;
    const measured = alone(times.measured[slowest]);
    const took = model.header.mode === "off" ? measured : `${alone(times.value[slowest], times.below[slowest], times.above[slowest], times.mark[slowest] > 0)}, measured ${measured}`;
    const table = model.isOfRanks ? "The table of regions is of these; what else stands here is of all ranks." : `What stands here is of all ranks. ${model.ofWhom()}`;
    return `${whose[0].toUpperCase()}${whose.slice(1)}: ${took}. ${table}`;
  }

  show(region, cells) {
    const { model, column } = this;
    const { regions, divisor } = model;
    const part = model.wholeOf(model.inclusive) ? regions.value[region] / divisor / model.wholeOf(model.inclusive) : 0;
    const texts = {
      value: figure(regions.value[region] / divisor, 0, 0, regions.mark[region] > 0, column),
      measured: plain(regions.measured[region] / divisor, column),
      share: share(part),
      calls: count(regions.calls[region]),
      wait: plain(regions.wait[region] / divisor, column),
      slowest: "–",
    };
    for (const [name, cell] of cells) cell.replaceChildren(texts[name]);
  }
}
