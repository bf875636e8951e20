// Source lines of the selected region, with what was measured at the regions that begin there.

import { columnFor, count, plain, share } from "./numbers.js";
import { NONE } from "./model.js";
import { byId, element } from "./dom.js";
import { VirtualTable } from "./table.js";

export class SourceView {
  constructor(model) {
    this.model = model;
    this.lines = [];
    this.at = new Map();
    const section = byId("source");
    this.note = element("p", {}, "Select a region to see its source.");
    section.append(this.note);
    this.table = new VirtualTable(section, {
      label: "Source lines",
      columns: [],
      height: 26 * 18,
      rows: () => this.lines.length,
      fill: (index) => this.fill(index),
      act: (index, what) => this.act(index, what),
    });
    this.table.root.hidden = true;
    model.listen((changed) => (changed.includes("region") || changed.includes("values")) && this.draw());
  }

  draw() {
    const { model } = this;
    const { region } = model.state;
    const path = region === NONE ? "" : model.file(region);
    const source = path && model.strings.sources.find((one) => one.path === path);
    this.table.root.hidden = !source;
    this.note.textContent = source ? path : path ? `${path}: its lines were not at hand when this page was made, or it takes too little time.` : region === NONE ? "Select a region to see its source." : "Where this region stands in the source is not known.";
    if (!source) return;
    if (this.path !== path) {
      this.path = path;
      this.lines = source.text.split("\n");
      this.at = this.annotations(path);
    }
    const largest = [...this.at.values()].flat().reduce((most, one) => Math.max(most, Math.abs(model.regionExclusive(one))), 0);
    this.column = columnFor(largest);
    this.table.setColumns([
      { key: "line", title: "Line", align: "number" },
      { key: "calls", title: "Calls", align: "number" },
      { key: "exclusive", title: `Exclusive, ${this.column.name}`, align: "number" },
      { key: "share", title: "Share", align: "number" },
      { key: "code", title: "Source" },
    ]);
    this.table.refresh(Math.max(0, model.regions.line[region] - 1));
    this.table.root.scrollTop = Math.max(0, (model.regions.line[region] - 4) * 26);
    this.table.draw();
  }

  annotations(path) {
    const { model } = this;
    const at = new Map();
    for (let region = 0; region < model.regions.rows; region++) {
      if (model.regions.line[region] && model.regions.calls[region] && model.file(region) === path) {
        const line = model.regions.line[region];
        at.set(line, [...(at.get(line) || []), region]);
      }
    }
    return at;
  }

  fill(index) {
    const { model } = this;
    const here = this.at.get(index + 1) || [];
    const sum = (of) => here.reduce((total, region) => total + of(region), 0);
    const exclusive = sum((region) => model.regionExclusive(region));
    const part = model.whole() ? exclusive / model.whole() : 0;
    const bar = element("i", { class: "bar-of", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0, Math.min(100, 100 * part))}%`;
    return {
      selected: here.includes(model.state.region),
      cells: [
        String(index + 1),
        here.length ? count(sum((region) => model.regions.calls[region])) : "",
        here.length ? plain(exclusive, this.column) : "",
        here.length ? element("span", { class: "shared" }, bar, share(part)) : "",
        element("code", {}, this.lines[index]),
      ],
    };
  }

  act(index, what) {
    const [region] = this.at.get(index + 1) || [];
    if (region !== undefined && what !== "open" && what !== "close") this.model.selectRegion(region);
  }
}
