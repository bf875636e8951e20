// Ranks × regions as a heat map: a row a region, a column a rank or a bin of ranks.

import { alone, columnFor, excess, figure, plural, seconds } from "./numbers.js";
import { inTurn } from "./columns.js";
import { NONE } from "./model.js";
import { byId, choice, colour, diverging, element, figures, numberEvery, pictureOrTable, prepare, say, sequential, shortName } from "./dom.js";

const HEAT_ROW = 18;
const LABELS = 230;
/** Room for the numbers of ranks above the columns. */
const HEAD = 20;
const AT_ONCE = 40;

export class Heat {
  constructor(model, heat) {
    this.model = model;
    this.heat = heat;
    this.scale = "relative";
    this.which = "mean";
    this.all = false;
    this.sorted = "differ";
    this.group = 1;
  }

  async start() {
    const { model, heat } = this;
    [this.cells, this.rows, this.slow] = await inTurn([heat.cells, heat.regions, heat.slowest]);
    this.stride = heat.bins + heat.outliers.length;
    this.word = model.header.ranks > 0 ? "rank" : "process";
    const section = byId("ranks");
    if (heat.processes < 2) {
      section.append(element("p", {}, "One process alone: there is nothing to compare."));
      return;
    }
    const scale = choice("Colour", [["relative", "relative to the row's mean"], ["absolute", "absolute"]], this.scale, (value) => this.set("scale", value));
    this.ofBin = choice("Of a bin", [["mean", "mean"], ["most", "greatest"]], this.which, (value) => this.set("which", value));
    const sorted = choice("Rows", [["differ", "that differ most first"], ["time", "that take most time first"], ["chosen", "that take most on the selected ranks first"]], this.sorted, (value) => this.set("sorted", value));
    this.more = element("button", { type: "button", onclick: () => this.set("all", !this.all) }, "all regions");
    this.canvas = element("canvas", { role: "img", tabindex: 0, onclick: (event) => this.click(event), onmousemove: (event) => this.hover(event), onkeydown: (event) => this.key(event) });
    pictureOrTable(this, "Ranks");
    this.meaning = element("span");
    this.status = element("p", { class: "line", id: "ranks-line" });
    this.binned = element("span");
    const left = heat.left_out ? `${plural(heat.left_out, "region that differs less is", "regions that differ less are")} left out.` : "";
    section.append(element("div", { class: "bar" }, sorted, scale, this.ofBin, this.more, this.asTable), element("p", { class: "muted" }, this.binned, left, " ", this.meaning), this.frame, this.status, this.list);
    model.slowest = (region, number) => this.slowestOf(region, number);
    model.onRanks = (region) => this.meanOnRanks(region);
    model.listen((changed) => changed.some((key) => ["region", "ranks", "values", "query", "theme"].includes(key)) && this.draw());
    window.addEventListener("resize", () => this.draw());
    this.draw();
  }

  /** Ranks in a column, and columns of them: as many bins share one as the pixels ask for, so that none is left out. */
  get perBin() {
    return this.heat.per_bin * this.group;
  }

  get bins() {
    return Math.ceil(this.heat.processes / this.perBin);
  }

  get columns() {
    return this.bins + this.heat.outliers.length;
  }

  /** Puts as many bins into a column as so many pixels ask for. */
  fit(pixels) {
    const { heat } = this;
    this.group = Math.ceil(heat.bins / Math.max(1, pixels - heat.outliers.length));
    this.ofBin.hidden = this.perBin === 1;
    const deviating = heat.outliers.length ? `; the last ${plural(heat.outliers.length, "column is the rank that deviates", "columns are the ranks that deviate")} most, exactly` : "";
    this.binned.textContent = this.perBin > 1 ? `A column is ${this.perBin} ranks, their ${this.which === "most" ? "greatest" : "mean"}${deviating}. ` : "";
  }

  /** Puts the rows in order: they are carried with those that differ most first. */
  sortRows() {
    const carried = Array.from({ length: this.rows.rows }, (_, at) => at);
    const columns = [...this.chosenBins()];
    const cells = this.cells[this.model.state.values];
    const onChosen = (at) => columns.reduce((sum, column) => sum + cells[at * this.stride + column], 0);
    const by = { time: (at) => this.meanAt(at), chosen: columns.length ? onChosen : undefined }[this.sorted];
    if (by) {
      const times = carried.map(by);
      carried.sort((one, other) => times[other] - times[one] || one - other);
    }
    this.order = carried;
    this.regions = carried.map((at) => this.rows.region[at]);
  }

  set(key, value) {
    this[key] = value;
    this.more.textContent = this.all ? "fewer regions" : "all regions";
    this.draw();
  }

  shown() {
    return this.all ? this.rows.rows : Math.min(AT_ONCE, this.rows.rows);
  }

  /** What a column has of a row: the mean or the greatest of its ranks. */
  value(row, column, which = this.which) {
    const { cells, heat, group } = this;
    const { values } = this.model.state;
    const first = this.order[row] * this.stride;
    if (column >= this.bins) return cells[values][first + heat.bins + column - this.bins];
    const [from, to] = [column * group, Math.min(heat.bins, (column + 1) * group)];
    const most = cells[`most_${values}`] ?? cells[values];
    let [sum, ranks, greatest] = [0, 0, -Infinity];
    for (let bin = from; bin < to; bin++) {
      sum += cells[values][first + bin] * this.ranksIn(bin);
      ranks += this.ranksIn(bin);
      greatest = Math.max(greatest, most[first + bin]);
    }
    return which === "most" ? greatest : sum / ranks;
  }

  /** Ranks of a bin as it is carried: the last one may have fewer. */
  ranksIn(bin) {
    return Math.min(this.heat.per_bin, this.heat.processes - bin * this.heat.per_bin);
  }

  mean(row) {
    return this.meanAt(this.order[row]);
  }

  /** The mean over all processes of what is carried there. */
  meanAt(at) {
    let sum = 0;
    for (let bin = 0; bin < this.heat.bins; bin++) {
      sum += this.cells[this.model.state.values][at * this.stride + bin] * this.ranksIn(bin);
    }
    return sum / this.heat.processes;
  }

  draw() {
    const rows = this.shown();
    this.sortRows();
    if (!rows) {
      this.status.textContent = "There are no ranks to compare.";
      this.frame.hidden = true;
      return;
    }
    const { context, width, height } = prepare(this.canvas, HEAD + rows * HEAT_ROW);
    this.fit(width - LABELS);
    context.clearRect(0, 0, width, height);
    const image = new ImageData(this.columns, rows);
    let greatest = 0;
    for (let row = 0; row < rows; row++) for (let column = 0; column < this.columns; column++) greatest = Math.max(greatest, Math.abs(this.value(row, column)));
    const difference = diverging();
    for (let row = 0; row < rows; row++) {
      const mean = this.mean(row);
      for (let column = 0; column < this.columns; column++) {
        const value = this.value(row, column);
        const part = greatest ? value / greatest : 0;
        const absolute = () => (this.model.state.values === "difference" ? difference(part) : sequential(Math.max(0, part)));
        const paint = this.scale === "absolute" ? absolute() : difference(mean ? (value - mean) / Math.abs(mean) : 0);
        const at = 4 * (row * this.columns + column);
        [image.data[at], image.data[at + 1], image.data[at + 2], image.data[at + 3]] = [paint[0], paint[1], paint[2], 255];
      }
    }
    const small = new OffscreenCanvas(this.columns, rows);
    small.getContext("2d").putImageData(image, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, LABELS, HEAD, width - LABELS, height - HEAD);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.fillStyle = colour("text");
    for (let row = 0; row < rows; row++) {
      const region = this.regions[row];
      context.font = `${this.model.isHit(region) ? "bold " : ""}12px system-ui, sans-serif`;
      context.fillText(shortName(this.model.name(region), 34), 2, HEAD + row * HEAT_ROW + HEAT_ROW / 2, LABELS - 8);
    }
    this.drawRanks(context, (width - LABELS) / this.columns);
    context.strokeStyle = colour("accent");
    context.lineWidth = 2;
    const row = this.regions.indexOf(this.model.state.region);
    if (row >= 0 && row < rows) context.strokeRect(LABELS, HEAD + row * HEAT_ROW, width - LABELS, HEAT_ROW);
    const wide = (width - LABELS) / this.columns;
    for (const column of this.chosen()) context.strokeRect(LABELS + column * wide, HEAD, Math.max(2, wide), height - HEAD);
    this.meaning.textContent = this.legend();
    this.canvas.setAttribute("aria-label", `Heat map of ${plural(rows, "region", "regions")} and ${plural(this.heat.processes, "process", "processes")}; the first region: ${this.model.name(this.regions[0])}`);
    const [column = this.slowest(Math.max(0, row))] = this.chosen();
    if (row < 0 && this.model.state.region !== NONE) this.status.textContent = `${this.model.name(this.model.state.region)} is none of the regions that differ most.`;
    else this.tell(Math.max(0, row), column);
    if (!this.list.hidden) this.drawTable();
  }

  /** Above the columns the numbers of their ranks, of bins those of the first: as many as have room, and those of the ones that deviate where all have. */
  drawRanks(context, wide) {
    const { bins, perBin } = this;
    const { outliers } = this.heat;
    const { labels } = this.model.strings;
    context.font = "11px system-ui, sans-serif";
    const widest = (processes) => processes.reduce((most, process) => Math.max(most, context.measureText(labels[process]).width + 8), 0);
    const number = (column, process) => context.fillText(labels[process], LABELS + (column + 0.5) * wide, HEAD / 2);
    const firsts = Array.from({ length: bins }, (_, bin) => bin * perBin);
    context.textAlign = "center";
    const step = numberEvery(bins, (bins * wide) / widest(firsts));
    for (let bin = 0; bin < bins; bin += step) number(bin, firsts[bin]);
    if (widest(outliers) <= wide) outliers.forEach((process, index) => number(bins + index, process));
    context.textAlign = "right";
    context.fillText(this.word, LABELS - Math.max(8, widest([0]) / 2 - wide / 2), HEAD / 2);
    context.textAlign = "left";
  }

  /** What the colours mean. */
  legend() {
    if (this.scale !== "absolute") return "Blue is less than the row's mean, orange more: the deepest is as much as the mean itself.";
    if (this.model.state.values === "difference") return "Orange was taken off, blue is below zero.";
    return "From dark for none to bright for the most of all.";
  }

  /** The columns in which the selected ranks stand. */
  chosen() {
    return new Set(this.model.state.ranks.map((process) => Math.floor(process / this.perBin)));
  }

  /** The bins that are carried of them. */
  chosenBins() {
    return new Set(this.model.state.ranks.map((process) => Math.floor(process / this.heat.per_bin)));
  }

  /** What the selected ranks spend in a region, where that is here. */
  onRanks(region) {
    const row = this.regions?.indexOf(region) ?? -1;
    const columns = [...this.chosen()];
    if (row < 0 || !columns.length) return "";
    const shown = columns.slice(0, 8).map((column) => `${alone(this.value(row, column), 0, 0, this.isMarked(row))} (${this.label(column)})`);
    return shown.join(", ") + (columns.length > 8 ? ` and ${columns.length - 8} more` : "");
  }

  /** The mean of what the selected ranks spend in a region, where that is here. */
  meanOnRanks(region) {
    const at = this.rows.region.indexOf(region);
    const bins = [...this.chosenBins()];
    if (at < 0 || !bins.length) return undefined;
    return bins.reduce((sum, bin) => sum + this.cells[this.model.state.values][at * this.stride + bin], 0) / bins.length;
  }

  /** The processes that take longest in a region, or why that is not known. */
  slowestOf(region, number) {
    const row = this.rows.region.indexOf(region);
    const { carried } = this.heat;
    if (row < 0) return `${this.model.name(region)} is none of the regions that differ most: which ranks are slowest in it is not carried`;
    if (!(number >= 1 && number <= carried)) return `slowest 1 to ${carried}: so many are carried`;
    return Array.from(this.slow[this.model.state.values].subarray(row * carried, row * carried + number)).filter((process) => process !== NONE);
  }

  slowest(row) {
    let best = 0;
    for (let column = 1; column < this.columns; column++) if (this.value(row, column) > this.value(row, best)) best = column;
    return best;
  }

  label(column) {
    const { heat, model } = this;
    if (column >= this.bins) return `${this.word} ${model.strings.labels[heat.outliers[column - this.bins]]}`;
    const first = column * this.perBin;
    const last = Math.min(heat.processes, first + this.perBin) - 1;
    return first === last ? `${this.word} ${model.strings.labels[first]}` : `ranks ${model.strings.labels[first]}–${model.strings.labels[last]}`;
  }

  /** What a column has of a row and the row's mean, as exactly as tables have them that hold the rank which spends most against the mean. */
  held(row, column) {
    const { heat, model, bins } = this;
    const [region, spread] = [this.regions[row], model.spread()];
    const isOfAll = [0, heat.processes].includes(model.header.ranks);
    const process = column >= bins ? heat.outliers[column - bins] : this.perBin === 1 ? column : NONE;
    return [process === spread.most_at[region] ? spread.most[region] : this.value(row, column), isOfAll ? spread.mean[region] : this.mean(row)];
  }

  tell(row, column) {
    const [value, mean] = this.held(row, column);
    const isBin = column < this.bins && this.perBin > 1;
    const other = this.which === "most" ? "mean" : "most";
    const told = (time) => alone(time, 0, 0, this.isMarked(row));
    const rest = isBin ? `; their ${other === "most" ? "greatest" : "mean"} is ${told(this.value(row, column, other))}` : "";
    const of = isBin ? (other === "most" ? "mean " : "greatest ") : "";
    const ahead = mean ? (value - mean) / Math.abs(mean) : 0;
    const word = this.model.word() && ` ${this.model.word()}`;
    this.status.textContent = `${this.model.name(this.regions[row])} · ${this.label(column)}: ${of}${told(value)}${word}, ${excess(ahead)} against the mean of ${told(mean)}${rest}`;
  }

  /** Whether the times of a row are not to be trusted, which is known of all ranks together. */
  isMarked(row) {
    const { model } = this;
    return model.doubt(model.regions, this.regions[row])[2];
  }

  /** The row and the column of a place in the picture: row −1 are the numbers of ranks, column −1 the names. */
  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const row = Math.max(-1, Math.floor((event.clientY - box.top - HEAD) / HEAT_ROW));
    const column = Math.floor(((event.clientX - box.left - LABELS) / (box.width - LABELS)) * this.columns);
    return row < this.shown() ? { row, column: Math.min(column, this.columns - 1) } : null;
  }

  click(event) {
    const at = this.at(event);
    if (!at) return;
    if (at.row >= 0) this.model.selectRegion(this.regions[at.row]);
    const isRange = event.shiftKey && this.from !== undefined && this.from < this.bins && at.column >= 0 && at.column < this.bins;
    if (!isRange) this.from = at.column < 0 ? undefined : at.column;
    this.model.change({ ranks: at.column < 0 ? [] : isRange ? this.between(this.from, at.column) : this.between(at.column, at.column) });
  }

  /** The processes of columns; a column of one that deviates stands alone. */
  between(one, other) {
    if (one >= this.bins) return [this.heat.outliers[one - this.bins]];
    const ranks = [];
    for (let column = Math.min(one, other); column <= Math.max(one, other); column++) ranks.push(...this.bin(column));
    return ranks;
  }

  /** The processes of a column. */
  bin(column) {
    const first = column * this.perBin;
    return Array.from({ length: Math.min(this.perBin, this.heat.processes - first) }, (_, index) => first + index);
  }

  hover(event) {
    const at = this.at(event);
    if (at && at.row >= 0 && at.column >= 0) this.tell(at.row, at.column);
  }

  key(event) {
    const steps = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] };
    const step = steps[event.key];
    if (!step) return;
    const row = Math.max(0, this.regions.indexOf(this.model.state.region)) + step[0];
    if (step[0]) this.model.selectRegion(this.regions[Math.max(0, Math.min(this.shown() - 1, row))]);
    const [column = -1] = this.chosen();
    if (step[1]) {
      this.model.change({ ranks: this.bin(Math.max(0, Math.min(this.bins - 1, column + step[1]))) });
      say(this.status.textContent);
    }
    event.preventDefault();
    event.stopPropagation();
  }

  /** All columns, also those that the table has no room for. */
  records() {
    const { model, bins, perBin, which } = this;
    const columns = Array.from({ length: this.columns }, (_, column) => column);
    const named = (column) => this.label(column).replace("–", "-") + (column < bins && perBin > 1 ? ` ${which}` : "");
    const rows = Array.from({ length: this.shown() }, (_, row) => [model.name(this.regions[row]), ...columns.map((column) => seconds(this.value(row, column)))]);
    return [["region", ...columns.map((column) => model.inSeconds(named(column)))], ...rows];
  }

  drawTable() {
    const { model } = this;
    const columns = Math.min(this.columns, 16);
    let largest = 0;
    for (let row = 0; row < this.shown(); row++) for (let column = 0; column < columns; column++) largest = Math.max(largest, Math.abs(this.value(row, column)));
    const unit = columnFor(largest);
    const head = [`Region, ${unit.name}`, ...Array.from({ length: columns }, (_, column) => this.label(column))];
    const rows = Array.from({ length: this.shown() }, (_, row) => {
      const cells = Array.from({ length: columns }, (_, column) => element("td", {}, figure(this.value(row, column), 0, 0, this.isMarked(row), unit)));
      return element("tr", {}, element("th", { scope: "row" }, shortName(model.name(this.regions[row]), 48)), ...cells);
    });
    const caption = columns < this.columns ? `The first ${columns} of ${this.columns} columns` : "All ranks";
    this.list.replaceChildren(figures([caption], head, rows));
  }
}
