// Source lines of the selected region, with what was measured at the regions that stand there. A line's calls are those of one kind
// of region: a loop, its iterations and the calls in it that stand in one line would count its work again and again.

import { columnFor, count, figure, plain, share } from "./numbers.js";
import { NONE } from "./model.js";
import { byId, element } from "./dom.js";
import { VirtualTable } from "./table.js";

/** Of several kinds of regions in a line, the calls of the first of these are shown. */
const COUNTED = ["function", "call site", "iteration", "loop"];

export class SourceView {
  constructor(model, detail) {
    this.model = model;
    this.detail = detail;
    this.lines = [];
    this.at = new Map();
    this.hasWaits = [model.tree.wait, model.tree.measured_wait].some((waits) => waits.some((wait) => wait > 0));
    const section = byId("source");
    this.note = element("p", {}, "Select a region to see its source.");
    section.append(this.note);
    this.table = new VirtualTable(section, {
      label: "Source lines",
      columns: [],
      height: 26 * 18,
      onPaper: 60,
      rows: () => this.lines.length,
      fill: (index) => this.fill(index),
      act: (index, what) => this.act(index, what),
    });
    this.table.root.hidden = true;
    section.classList.add("empty");
    model.listen((changed) => ["region", "values", "ranks"].some((key) => changed.includes(key)) && this.draw());
  }

  draw() {
    const { model } = this;
    const region = this.placed(model.state.region);
    const path = region === NONE ? "" : model.file(region);
    const source = path && model.strings.sources.find((one) => one.path === path);
    this.table.root.hidden = !source;
    this.region = region;
    const caller = region === model.state.region ? "" : `Where ${model.name(model.state.region)} stands in the source is not known; this is ${model.name(region)}, which of its callers with a place takes most time for it: `;
    this.note.textContent = source ? caller + path : path ? `${caller}${path}: its lines were not at hand when this page was made, or it takes too little time.` : region === NONE ? "Select a region to see its source." : "Where this region stands in the source is not known.";
    byId("source").classList.toggle("empty", !source);
    if (!source) return;
    if (this.path !== path) {
      this.path = path;
      this.lines = source.text.split("\n");
      this.at = this.annotations(path);
    }
    this.mpi = this.inMpi(path);
    const largest = [...this.at.values()].flat().reduce((most, one) => Math.max(most, Math.abs(model.regionExclusive(one))), 0);
    this.column = columnFor(largest);
    const most = (key) => [...this.mpi.values()].reduce((most, sums) => Math.max(most, Math.abs(sums[key])), 0);
    [this.mpiColumn, this.waitColumn] = [columnFor(most("time") || largest), columnFor(most("wait") || largest)];
    this.table.setColumns([
      { key: "line", title: "Line", align: "number" },
      { key: "calls", title: "Calls", align: "number", hint: "Of the function that begins here; else of the calls in this line, or iterations, or the loop" },
      { key: "exclusive", title: `Exclusive, ${this.column.name}`, align: "number", hint: "Time in what stands in this line itself" },
      { key: "mpi", title: `In MPI, ${this.mpiColumn.name}`, align: "number", hint: "Time in MPI operations that are called from this line; without call sites, from the function that begins here" },
      ...(this.hasWaits ? [{ key: "wait", title: `Waiting, ${this.waitColumn.name}`, align: "number", hint: "What of the time in MPI is waiting for other ranks" }] : []),
      { key: "share", title: "Share", align: "number", hint: "Of all time: what stands in this line itself, and its time in MPI" },
      { key: "code", title: "Source" },
    ]);
    this.table.refresh(Math.max(0, model.regions.line[region] - 1));
    this.table.root.scrollTop = Math.max(0, (model.regions.line[region] - 4) * 26);
    this.table.draw();
  }

  /** The region itself where its place is known, else that of its callers with a place which takes most time for it. */
  placed(region) {
    if (region === NONE || this.model.file(region)) return region;
    const [caller] = this.detail.callers(region).find(([one]) => this.model.file(one) && this.model.regions.line[one]) || [region];
    return caller;
  }

  annotations(path) {
    const { model } = this;
    const at = new Map();
    for (let region = 0; region < model.regions.rows; region++) {
      if (model.regions.line[region] && model.all.regions.calls[region] && model.file(region) === path) {
        const line = model.regions.line[region];
        at.set(line, [...(at.get(line) || []), region]);
      }
    }
    return at;
  }

  /** Time in MPI operations and what of it is waiting, by line: that of the call where calls were measured, else that of the function which calls. */
  inMpi(path) {
    const { model } = this;
    const { tree, regions } = model;
    const times = new Map();
    for (let at = 0; at < tree.rows; at++) {
      if (model.kind(tree.region[at]) !== "mpi" || tree.parent[at] === NONE) continue;
      const caller = tree.region[tree.parent[at]];
      if (caller === NONE || !regions.line[caller] || model.file(caller) !== path) continue;
      const sums = times.get(regions.line[caller]) || { time: 0, wait: 0 };
      sums.time += model.pathExclusive(at);
      sums.wait += model.pick(tree.wait[at], tree.measured_wait[at]);
      times.set(regions.line[caller], sums);
    }
    return times;
  }

  calls(here) {
    const { model } = this;
    const kind = COUNTED.find((kind) => here.some((region) => model.kind(region) === kind));
    const counted = here.filter((region) => kind === undefined || model.kind(region) === kind);
    return counted.reduce((sum, region) => sum + model.regions.calls[region], 0);
  }

  fill(index) {
    const { model } = this;
    const here = this.at.get(index + 1) || [];
    const exclusive = here.reduce((sum, region) => sum + model.regionExclusive(region), 0);
    const mpi = this.mpi.get(index + 1);
    const part = model.whole() ? (exclusive + (mpi ? mpi.time : 0)) / model.whole() : 0;
    const bar = element("i", { class: "bar-of", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0, Math.min(100, 100 * part))}%`;
    return {
      selected: here.includes(this.region),
      cells: [
        String(index + 1),
        here.length ? count(this.calls(here)) : "",
        here.length ? this.interval(here, exclusive) : "",
        mpi === undefined ? "" : plain(mpi.time, this.mpiColumn),
        ...(this.hasWaits ? [mpi === undefined ? "" : plain(mpi.wait, this.waitColumn)] : []),
        here.length || mpi ? element("span", { class: "shared" }, bar, share(part)) : "",
        element("code", {}, this.lines[index]),
      ],
    };
  }

  /** The time of a line with its interval: those of several regions add up. */
  interval(here, exclusive) {
    const doubts = here.map((region) => this.model.doubt(this.model.regions, region));
    const sum = (end) => doubts.reduce((sum, doubt) => sum + doubt[end], 0);
    return figure(exclusive, sum(0), sum(1), doubts.some(([, , isMarked]) => isMarked), this.column);
  }

  act(index, what) {
    const [region] = this.at.get(index + 1) || [];
    if (region !== undefined && what !== "open" && what !== "close") this.model.selectRegion(region);
  }
}
