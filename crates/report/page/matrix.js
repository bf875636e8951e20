// Who sends to whom, as a matrix; the heaviest pairs as a table beside it.

import { alone, byteSize, columnFor, count, exactCount, plain, plural } from "./numbers.js";
import { inTurn } from "./columns.js";
import { NONE } from "./model.js";
import { histogram } from "./sizes.js";
import { byId, choice, colour, element, figures, numberEvery, prepare, say, sequential, textWidth } from "./dom.js";

const METRICS = [["wait", "waiting of receivers"], ["sender_wait", "waiting of senders"], ["bytes", "bytes"], ["messages", "messages"], ["transmission", "transmission time"]];
const PAIRS = 25;
const SCALES = [["fitting", "as it fits"], ["logarithmic", "logarithmic"], ["linear", "linear"]];
/** From this ratio of the greatest to the least on, a linear scale shows the greatest alone. */
const WIDE = 10;
/** Room for what stands above the matrix, and at its left beside the numbers of ranks. */
const HEADROOM = 40;
const BESIDE = 24;
const NUMBERS = 12;
/** Pixels that lines between nodes stand apart at least, on average. */
const NODE_APART = 8;
const UNKNOWN = "–";
/** The matrix of few ranks is no larger than their rows need. */
const MOST_SIDE = 72;

export class Matrix {
  constructor(model, matrix) {
    this.model = model;
    this.matrix = matrix;
    this.metric = "bytes";
    this.scale = "fitting";
    // The cell that is chosen, and that at which arrows stand.
    [this.cell, this.cursor] = [null, null];
  }

  async start() {
    const { matrix } = this;
    [this.cells, this.pairs, this.ofRegions] = await inTurn([matrix.cells, matrix.pairs, matrix.of_regions]);
    const section = byId("messages");
    this.model.isExchanged = (region) => (region === NONE ? this.cells.rows > 0 : this.ofRegions.region.includes(region));
    if (!this.cells.rows) {
      section.append(element("p", {}, "No messages between ranks were measured."));
      return;
    }
    this.canvas = element("canvas", {
      role: "img",
      tabindex: 0,
      onclick: (event) => this.choose(this.at(event)),
      onmousemove: (event) => this.tell(this.at(event) ?? this.cursor),
      onmouseleave: () => this.tell(this.cursor),
      onkeydown: (event) => this.key(event),
    });
    this.status = element("p", { class: "line", id: "messages-line" });
    this.list = element("div", { class: "list", tabindex: 0, role: "region", "aria-label": "Pairs of ranks" });
    this.sizes = element("div", { class: "sizes" });
    const metric = choice("Shown", METRICS, this.metric, (value) => {
      this.metric = value;
      this.draw();
    });
    const scale = choice("Scale", SCALES, this.scale, (value) => {
      this.scale = value;
      this.draw();
    });
    const notes = [
      matrix.per_row > 1 ? `A row and a column are ${matrix.per_row} ranks each.` : "",
      new Set(this.model.strings.hosts).size > 1 ? "What senders wait for receivers on other machines is not known: it stands under MPI at work." : "",
    ].filter(Boolean);
    section.append(element("div", { class: "bar" }, metric, scale), element("p", { class: "muted", hidden: !notes.length }, notes.join(" ")), element("div", { class: "matrix" }, element("div", { class: "frame square" }, this.canvas), this.list), this.status, this.sizes);
    this.model.listen((changed) => changed.some((key) => ["values", "region", "ranks", "theme"].includes(key)) && this.draw());
    window.addEventListener("resize", () => this.draw());
    this.draw();
  }

  column(table) {
    return this.metric.endsWith("wait") ? this.waiting(table, this.metric) : table[this.metric];
  }

  waiting(table, whose) {
    const { values } = this.model.state;
    const [value, measured] = [table[whose], table[`measured_${whose}`]];
    if (values === "difference") return value.map((seconds, index) => measured[index] - seconds);
    return values === "measured" ? measured : value;
  }

  text(value) {
    if (this.metric === "bytes") return byteSize(value);
    return this.metric === "messages" ? exactCount(value) : alone(value);
  }

  /** The cells of the selected region, where it has messages, else those of all. */
  chosenCells() {
    const { model, matrix, ofRegions } = this;
    const { region } = model.state;
    const { region: regions, rows, ...columns } = ofRegions;
    const places = new Map();
    for (let index = 0; region !== NONE && index < rows; index++) {
      if (regions[index] !== region) continue;
      const key = Math.floor(columns.from[index] / matrix.per_row) * matrix.rows + Math.floor(columns.to[index] / matrix.per_row);
      if (!places.has(key)) places.set(key, []);
      places.get(key).push(index);
    }
    if (!places.size) return this.cells;
    const sums = Object.entries(columns).map(([name, column]) => [name, [...places.values()].map((indices) => indices.reduce((sum, index) => sum + column[index], 0))]);
    const keys = [...places.keys()];
    return { ...Object.fromEntries(sums), rows: places.size, from: keys.map((key) => Math.floor(key / matrix.rows)), to: keys.map((key) => key % matrix.rows) };
  }

  draw() {
    const { matrix } = this;
    const cells = (this.shown = this.chosenCells());
    this.margin = BESIDE + Math.ceil(textWidth(String(matrix.ranks), this.canvas));
    const size = Math.min(480, Math.max(200, this.canvas.parentElement.clientWidth) - this.margin, Math.max(120, matrix.rows * MOST_SIDE));
    const { context, width } = prepare(this.canvas, size + HEADROOM);
    context.clearRect(0, 0, width, size + HEADROOM);
    this.drawRanks(context, size);
    context.save();
    context.translate(this.margin, HEADROOM);
    context.fillStyle = colour("soft");
    context.fillRect(0, 0, size, size);
    const values = this.column(cells);
    const greatest = values.reduce((most, value) => Math.max(most, value), 0);
    const least = values.reduce((least, value) => (value > 0 ? Math.min(least, value) : least), greatest);
    const side = size / matrix.rows;
    const isLog = this.scale === "logarithmic" || (this.scale === "fitting" && greatest >= WIDE * least);
    for (let index = 0; index < cells.rows; index++) {
      if (!(values[index] > 0)) continue;
      const logarithm = () => (greatest > least ? Math.log(values[index] / least) / Math.log(greatest / least) : 1);
      const part = isLog ? logarithm() : values[index] / greatest;
      const [red, green, blue] = sequential(0.1 + 0.9 * part);
      context.fillStyle = `rgb(${red},${green},${blue})`;
      context.fillRect(cells.to[index] * side, cells.from[index] * side, Math.max(1, side - (side > 6 ? 1 : 0)), Math.max(1, side - (side > 6 ? 1 : 0)));
    }
    this.drawNodes(context, side, size);
    context.strokeStyle = colour("accent");
    context.lineWidth = 2;
    const chosen = this.chosen();
    const isAll = chosen.table === this.pairs && !this.model.state.ranks.length;
    for (const index of isAll ? [] : chosen.indices) {
      const [row, column] = [chosen.table.from[index], chosen.table.to[index]].map((rank) => Math.floor(rank / matrix.per_row));
      context.strokeRect(column * side, row * side, Math.max(2, side), Math.max(2, side));
    }
    this.outline(context, side);
    context.restore();
    this.size = size;
    const name = METRICS.find(([key]) => key === this.metric)[1];
    this.canvas.setAttribute("aria-label", `Matrix of ${name} between ${plural(matrix.ranks, "rank", "ranks")}; ${plural(matrix.pairs_in_all, "pair exchanges", "pairs exchange")} messages; the table beside it has the heaviest`);
    const of = cells === this.cells ? plural(matrix.pairs_in_all, "pair", "pairs") : `Messages in ${this.model.name(this.model.state.region)}`;
    const isUnknown = cells !== this.cells && !greatest && this.metric !== "bytes" && this.metric !== "messages";
    this.overall = isUnknown ? `${of}; nothing is known there of ${name}` : `${of}; from dark ${isLog ? this.text(least) : "0"} to bright ${this.text(greatest)}, on a ${isLog ? "logarithmic" : "linear"} scale`;
    this.tell(this.cursor);
    this.drawPairs();
  }

  /** Around the chosen cell, and with dashes around the one at which arrows stand: light on dark and dark on light. */
  outline(context, side) {
    const isChosen = this.cell && this.cursor && this.cell.from === this.cursor.from && this.cell.to === this.cursor.to;
    const outlines = [[this.cell, []], [isChosen ? null : this.cursor, [4, 3]]].filter(([cell]) => cell);
    for (const [{ from, to }, dashes] of outlines) {
      const box = [to * side + 1.5, from * side + 1.5, Math.max(4, side - 3), Math.max(4, side - 3)];
      for (const [name, wide] of [["ground", 5], ["text", 2]]) {
        [context.strokeStyle, context.lineWidth] = [colour(name), wide];
        context.setLineDash(name === "text" ? dashes : []);
        context.strokeRect(...box);
      }
    }
    context.setLineDash([]);
  }

  /** Lines between ranks of one node and those of the next. */
  drawNodes(context, side, size) {
    const { labels, hosts } = this.model.strings;
    const hostOf = new Map(labels.map((label, process) => [label, hosts[process]]));
    const hostOfRow = (row) => hostOf.get(String(row * this.matrix.per_row));
    const begins = Array.from({ length: this.matrix.rows }, (_, row) => row).filter((row) => row > 0 && hostOfRow(row) !== hostOfRow(row - 1));
    // Where nodes are that many, lines between them would hide what they are to part.
    if (begins.length * NODE_APART > size) return;
    context.fillStyle = colour("muted");
    for (const row of begins) {
      context.fillRect(0, row * side - 0.5, size, 1);
      context.fillRect(row * side - 0.5, 0, 1, size);
    }
  }

  /** Numbers of ranks at some of the rows and columns, and which of them send. */
  drawRanks(context, size) {
    const { matrix } = this;
    const side = size / matrix.rows;
    const step = numberEvery(matrix.rows, NUMBERS);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colour("text");
    context.textBaseline = "middle";
    for (let row = 0; row < matrix.rows; row += step) {
      const middle = (row + 0.5) * side;
      const number = String(row * matrix.per_row);
      context.textAlign = "right";
      context.fillText(number, this.margin - 4, HEADROOM + middle);
      context.textAlign = "center";
      context.fillText(number, this.margin + middle, HEADROOM - 8);
    }
    context.textAlign = "left";
    context.fillText("to rank", this.margin, 8);
    context.save();
    context.translate(8, HEADROOM);
    context.rotate(-Math.PI / 2);
    context.textAlign = "right";
    context.fillText("from rank", 0, 0);
    context.restore();
  }

  /** The pairs that exchanged messages in the selected region, of the selected ranks; of all where no region, or one without messages, is. */
  chosen() {
    const { model, ofRegions } = this;
    const { region } = model.state;
    const ranks = new Set([...model.rankLabels()].map(Number));
    const of = (table) => Array.from({ length: table.rows }, (_, index) => index).filter((index) => !ranks.size || ranks.has(table.from[index]) || ranks.has(table.to[index]));
    const here = region === NONE ? [] : of(ofRegions).filter((index) => ofRegions.region[index] === region);
    return here.length ? { table: ofRegions, indices: here } : { table: this.pairs, indices: of(this.pairs) };
  }

  /** What the table of pairs is about. */
  about(isOfRegion) {
    const { model, matrix } = this;
    const of = model.state.ranks.length ? ` of ${model.rankText()}` : "";
    if (model.state.region === NONE) return `The heaviest pairs${of}`;
    const name = model.name(model.state.region);
    if (isOfRegion) return `The heaviest pairs${of} in ${name}`;
    return `No messages${of} were ${matrix.left_out ? "listed" : "measured"} in ${name}: the heaviest pairs${of} of all`;
  }

  drawPairs() {
    const { matrix } = this;
    const { table: pairs, indices } = this.chosen();
    const values = this.column(pairs);
    const inCell = (index) => !this.cell || (Math.floor(pairs.from[index] / matrix.per_row) === this.cell.from && Math.floor(pairs.to[index] / matrix.per_row) === this.cell.to);
    const order = indices.filter(inCell).sort((one, other) => values[other] - values[one]);
    const [receivers, senders] = ["wait", "sender_wait"].map((whose) => this.waiting(pairs, whose));
    const shown = order.slice(0, PAIRS);
    const times = [pairs.transmission, receivers, senders];
    const largest = times.map((column) => shown.reduce((most, index) => Math.max(most, Math.abs(column[index])), 0));
    const units = largest.map((most) => columnFor(most || Math.max(...largest)));
    // What was on its way and who waited for it is known where it was received.
    const isReceived = (index) => pairs === this.pairs || pairs.transmission[index] > 0 || pairs.measured_wait[index] > 0;
    const rows = shown.map((index) => {
      const text = (column, at) => (column === senders || isReceived(index) ? plain(column[index], units[at]) : UNKNOWN);
      const cells = [count(pairs.messages[index]), byteSize(pairs.bytes[index]), ...times.map(text)];
      return element("tr", {}, element("th", { scope: "row" }, `${pairs.from[index]} → ${pairs.to[index]}`), ...cells.map((text) => element("td", {}, text)));
    });
    const head = ["From → to", "Messages", "Bytes", ...["Transmission", "Receiver waits", "Sender waits"].map((title, at) => `${title}, ${units[at].name}`)];
    const more = order.length > PAIRS ? ` (${PAIRS} of ${exactCount(order.length)})` : "";
    const all = element("button", { type: "button", onclick: () => this.choose(null) }, "all");
    const caption = this.cell ? [`${this.about(pairs !== this.pairs)}, in the chosen cell${more} `, all] : [`${this.about(pairs !== this.pairs)}${more}`];
    this.list.replaceChildren(figures(caption, head, rows));
    this.drawSizes(pairs, order);
  }

  /** Of what size the messages are: of all that is shown, of the chosen cell, or of the pairs of the selected ranks. */
  drawSizes(pairs, order) {
    const { model, matrix, cell, shown } = this;
    const { ranks, region } = model.state;
    const inCell = (index) => !cell || (shown.from[index] === cell.from && shown.to[index] === cell.to);
    const ofRegion = shown !== this.cells ? ` in ${model.name(region)}` : "";
    const ofRanks = ranks.length ? ` of ${model.rankText()}` : "";
    const isPart = ranks.length && matrix.pairs_in_all > matrix.pairs.rows;
    const about = `Sizes of messages${ofRanks}${ofRegion}${cell ? ", in the chosen cell" : ""}${isPart ? ", of the pairs that are listed" : ""}`;
    const cells = Array.from({ length: shown.rows }, (_, index) => index).filter(inCell);
    this.sizes.replaceChildren(ranks.length ? histogram(about, pairs, order, matrix.sizes) : histogram(about, shown, cells, matrix.sizes));
  }

  choose(cell) {
    this.stand(cell, cell);
  }

  /** One cell is chosen, and arrows stand at another. */
  stand(cell, cursor) {
    [this.cell, this.cursor] = [cell, cursor];
    if (this.canvas) this.draw();
  }

  /** Arrows go from cell to cell, Enter chooses one, Escape lets it go. */
  key(event) {
    const step = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowRight: [0, 1], ArrowLeft: [0, -1] }[event.key];
    const within = (row) => Math.max(0, Math.min(this.matrix.rows - 1, row));
    if (step) {
      // The first one goes to the first cell.
      this.cursor = this.cursor ? { from: within(this.cursor.from + step[0]), to: within(this.cursor.to + step[1]) } : { from: 0, to: 0 };
      this.draw();
    } else if (event.key === "Enter" && this.cursor) this.choose(this.cursor);
    else if (event.key === "Escape" && this.cursor) this.choose(null);
    else return;
    say(this.cell && event.key === "Enter" ? `${this.status.textContent}; chosen` : this.status.textContent);
    event.preventDefault();
    event.stopPropagation();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const place = (offset) => Math.floor((offset / this.size) * this.matrix.rows);
    const [from, to] = [place(event.clientY - box.top - HEADROOM), place(event.clientX - box.left - this.margin)];
    return from >= 0 && to >= 0 && from < this.matrix.rows && to < this.matrix.rows ? { from, to } : null;
  }

  /** What a cell has; of no cell what all have. */
  tell(at) {
    if (!at) {
      this.status.textContent = this.overall;
      return;
    }
    const { shown: cells, matrix } = this;
    const ranks = (row) => (matrix.per_row > 1 ? `ranks ${row * matrix.per_row}–${Math.min(matrix.ranks, (row + 1) * matrix.per_row) - 1}` : `rank ${row}`);
    let value = 0;
    for (let index = 0; index < cells.rows; index++) if (cells.from[index] === at.from && cells.to[index] === at.to) value = this.column(cells)[index];
    this.status.textContent = `${ranks(at.from)} → ${ranks(at.to)}: ${value ? this.text(value) : "nothing"}`;
  }
}
