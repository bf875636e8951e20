// The sandwich: all that calls the selected region above it, all that it calls below it, over all its call paths.

import { alone, columnFor, exactCount, plain, plural, seconds, share } from "./numbers.js";
import { NONE } from "./model.js";
import { byId, colour, element, figures, pictureOrTable, prepare, shortName } from "./dom.js";
import { sandwich } from "./sandwich-layout.js";

const SLICE = 20;

export class Sandwich {
  constructor(model, paints) {
    Object.assign(this, { model, paints });
    this.title = element("h3", {}, "Callers and callees");
    this.note = element("p", { class: "muted" });
    this.canvas = element("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": "Callers and callees of the selected region",
      onclick: (event) => this.choose(this.at(event)),
      onmousemove: (event) => this.tell(this.at(event) ?? this.cursor),
      onmouseleave: () => this.tell(this.cursor),
      onkeydown: (event) => this.key(event),
    });
    pictureOrTable(this, "Callers and callees");
    this.status = element("p", { class: "line", id: "sandwich-line" });
    this.picture = [element("div", { class: "bar" }, this.asTable), this.frame, this.status, this.list];
    this.root = element("div", { id: "sandwich" }, this.title, this.note, ...this.picture);
    byId("icicle").append(this.root);
    model.listen((changed) => changed.some((key) => ["region", "values", "ranks", "query", "theme"].includes(key)) && this.draw());
    window.addEventListener("resize", () => this.draw());
    this.draw();
  }

  draw() {
    const { model } = this;
    const { region } = model.state;
    const before = this.region === region ? this.cursor : undefined;
    this.region = region;
    this.layout = { boxes: [], above: 0, below: 0, left: 0 };
    // What is hidden has no width.
    this.root.classList.toggle("empty", region === NONE);
    if (region !== NONE) this.layout = sandwich(model, region, Math.max(200, this.root.clientWidth), (path) => model.weight(path));
    const isEmpty = !this.layout.boxes.length;
    this.root.classList.toggle("empty", isEmpty);
    this.title.textContent = region === NONE ? "Callers and callees" : `Callers and callees of ${shortName(model.name(region), 80)}`;
    this.note.textContent = region === NONE ? "Select a region: who calls it stands above it, what it calls below it, over all its call paths." : isEmpty ? "No time was measured in it." : "Above it who calls it, as wide as its time for them; below what it calls. What is chosen stands in the middle then.";
    if (isEmpty) return;
    // Arrows go on from where they were when the same region is drawn anew.
    const isSame = (box) => before && box.level === before.level && box.paths[0] === before.paths[0];
    this.cursor = this.layout.boxes.find(isSame) ?? this.layout.boxes[0];
    if (this.list.hidden) this.paint();
    else this.drawTable();
    this.tell(this.cursor);
  }

  paint() {
    const { model, layout } = this;
    const { context, width, height } = prepare(this.canvas, (layout.above + layout.below + 1) * SLICE + 2);
    context.clearRect(0, 0, width, height);
    context.textBaseline = "middle";
    const paintOf = this.paints.kinds();
    for (const box of layout.boxes) {
      const [y, paint] = [this.top(box), paintOf(box.paths[0])];
      context.globalAlpha = model.hits.flags && !model.isHit(box.region) ? 0.35 : 1;
      context.fillStyle = paint.fill;
      context.fillRect(box.x, y, Math.max(box.width - 0.5, 0.5), SLICE - 1);
      if (box.width <= 40) continue;
      context.globalAlpha = 1;
      context.font = `${box.level === 0 ? "bold " : ""}12px system-ui, sans-serif`;
      context.fillStyle = paint.ink;
      context.fillText(shortName(model.name(box.region), Math.max(4, Math.floor((box.width - 8) / 6.6))), box.x + 4, y + SLICE / 2, box.width - 6);
    }
    context.globalAlpha = 1;
    this.frameCursor(context);
    const most = (level) => layout.boxes.find((box) => box.level === level);
    const words = [[-1, "called most by"], [1, "calls for longest"]].map(([level, text]) => most(level) && `${text} ${model.name(most(level).region)}`);
    this.canvas.setAttribute("aria-label", [`Callers and callees of ${model.name(model.state.region)}`, ...words.filter(Boolean)].join("; "));
    this.frame.scrollTop = Math.max(0, this.top(layout.boxes[0]) - this.frame.clientHeight / 2);
  }

  frameCursor(context) {
    const { x, width } = this.cursor;
    context.strokeStyle = colour("accent");
    context.lineWidth = 3;
    context.strokeRect(x + 1.5, this.top(this.cursor) + 1.5, Math.max(3, width - 3), SLICE - 4);
  }

  top({ level }) {
    return (level + this.layout.above) * SLICE;
  }

  /** The time of a box, as it is shown everywhere, and its part of the region's. */
  time({ weight }) {
    return weight / this.model.divisor;
  }

  /** The time of the region itself, with its interval where it is known of what is shown. */
  inclusive(region) {
    const { regions, divisor, state, isOfRanks } = this.model;
    const ends = ["inclusive_below", "inclusive_above"].map((end) => (state.values === "measured" || isOfRanks ? 0 : regions[end][region] / divisor));
    return alone(this.time(this.layout.boxes[0]), ...ends);
  }

  tell(box) {
    const { model, layout } = this;
    const [whole] = layout.boxes;
    const { region, level } = box;
    const [time, part] = [alone(this.time(box)), share(box.weight / whole.weight)];
    const away = Math.abs(level) === 1 ? "" : ` ${Math.abs(level)} levels away`;
    const middle = shortName(model.name(whole.region), 48);
    const said = level === 0 ? `inclusive ${this.inclusive(region)}, on ${plural(box.paths.length, "call path", "call paths")}` : level < 0 ? `calls it${away}: ${time} of ${middle}, ${part}` : `is called by it${away}: ${time}, ${part} of ${middle}`;
    const more = level === 0 && layout.left ? `${exactCount(layout.left)} further away or narrower than half a pixel` : "";
    this.status.textContent = [model.name(region), model.place(region), model.state.values === "measured" ? "measured" : "", model.isOfRanks ? model.rankText() : "", said, more].filter(Boolean).join(" · ");
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, level] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / SLICE) - this.layout.above];
    return this.layout.boxes.find((one) => one.level === level && x >= one.x && x < one.x + one.width);
  }

  /** What is chosen stands in the middle then. */
  choose(box) {
    if (box && box.region !== NONE) this.model.selectRegion(box.region);
  }

  /** Arrows go to boxes beside, and to the widest above or below. */
  key(event) {
    const { x, width, level } = this.cursor;
    const on = (step) => this.layout.boxes.filter((box) => box.level === level + step && box.x < x + width && box.x + box.width > x);
    const widest = (boxes) => boxes.reduce((best, box) => (best && best.width >= box.width ? best : box), undefined);
    const row = () => this.layout.boxes.filter((box) => box.level === level).sort((one, other) => one.x - other.x);
    const beside = (step) => row()[row().indexOf(this.cursor) + step];
    const to = { ArrowUp: () => widest(on(-1)), ArrowDown: () => widest(on(1)), ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) };
    if (event.key === "Enter") this.choose(this.cursor);
    else if (event.key in to) {
      this.cursor = to[event.key]() ?? this.cursor;
      this.paint();
      this.tell(this.cursor);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** What the table lists. */
  widest() {
    return [...this.layout.boxes].sort((one, other) => Math.sign(one.level) - Math.sign(other.level) || other.weight - one.weight).slice(0, 200);
  }

  /** What a box is to the region. */
  is({ level }) {
    return level === 0 ? "itself" : level < 0 ? "calls it" : "called by it";
  }

  records() {
    const { model } = this;
    const [whole] = this.layout.boxes;
    const rows = this.widest().map((box) => [model.name(box.region), this.is(box), Math.abs(box.level), seconds(this.time(box)), box.weight / whole.weight, model.file(box.region), model.line(box.region) || ""]);
    return [["region", "is", "levels_away", model.state.values === "measured" ? model.inSeconds("time") : "time_s", "part_of_its_time", "file", "line"], ...rows];
  }

  drawTable() {
    const { model, layout } = this;
    const [whole] = layout.boxes;
    const widest = this.widest();
    const column = columnFor(widest.reduce((most, box) => Math.max(most, Math.abs(this.time(box))), 0));
    const rows = widest.map((box) => {
      const cells = [this.is(box), String(Math.abs(box.level)), plain(this.time(box), column), share(box.weight / whole.weight), model.place(box.region)];
      return element("tr", {}, element("th", { scope: "row" }, shortName(model.name(box.region), 64)), ...cells.map((text) => element("td", {}, text)));
    });
    this.list.replaceChildren(figures([`Callers and callees of ${model.name(whole.region)}`], ["Region", "Is", "Levels away", `Time, ${column.name}`, "Of its time", "Place"], rows));
  }
}
