// The icicle: call paths from the top, as wide as their inclusive time; with a table in its place on request.

import { alone, exactCount, figure, plain, plural, columnFor, seconds, share } from "./numbers.js";
import { NONE, inclusiveOf } from "./model.js";
import { byId, choice, colour, element, figures, pictureOrTable, prepare, roomIn, sequential, shortName } from "./dom.js";
import { icicle, windowOf } from "./icicle-layout.js";
import { Paints } from "./paints.js";

const BOX_ROW = 20;
/** So many call paths the table lists, however wide the picture is. */
const MOST_LISTED = 100;

export class Icicle {
  constructor(model) {
    this.model = model;
    this.root = null;
    [this.width, this.coloured] = ["time", "kind"];
    this.paints = new Paints(model);
    this.measure();
    [this.past, this.coming] = [[], []];
    const section = byId("icicle");
    this.crumbs = element("div", { class: "crumbs" });
    this.canvas = element("canvas", {
      tabindex: 0,
      role: "img",
      onclick: (event) => this.click(event),
      ondblclick: () => this.zoom(this.model.state.path),
      onmousemove: (event) => this.hover(event),
      onmouseleave: () => this.tell(this.model.state.path),
      onkeydown: (event) => this.key(event),
    });
    pictureOrTable(this, "Icicle");
    this.status = element("p", { class: "line", id: "icicle-line" });
    this.window = element("div");
    this.overview = element("div", { class: "overview", role: "img", hidden: true }, this.window);
    this.legend = element("p", { class: "muted legend" });
    const set = (key) => (value) => {
      this[key] = value;
      this.draw();
    };
    const choices = this.anyWaits() ? [choice("Width", [["time", "time"], ["waiting", "waiting"]], this.width, set("width")), choice("Colour", [["kind", "kind"], ["waiting", "waiting"]], this.coloured, set("coloured"))] : [];
    section.append(element("div", { class: "bar" }, this.crumbs, this.asTable, ...choices), this.overview, this.frame, this.status, this.legend, this.list);
    model.listen((changed) => {
      if (changed.includes("zoom")) this.goTo(model.state.zoom);
      if (changed.includes("ranks")) this.measure();
      if (changed.includes("values") || changed.includes("ranks") || changed.includes("path") || changed.includes("query") || changed.includes("theme")) this.draw();
    });
    window.addEventListener("resize", () => this.draw());
    this.draw();
  }

  /** Waiting of each path with all below it, of the ranks that are shown. */
  measure() {
    const { tree } = this.model;
    this.waits = { value: inclusiveOf(tree.parent, tree.wait), measured: inclusiveOf(tree.parent, tree.measured_wait) };
  }

  anyWaits() {
    return this.model.roots.some((root) => this.waits.value[root] > 0 || this.waits.measured[root] > 0);
  }

  /** Inclusive waiting of a path, of what is shown and never of a difference. */
  waiting(path) {
    return (this.model.state.values === "measured" ? this.waits.measured : this.waits.value)[path];
  }

  weight(path) {
    return this.width === "waiting" ? this.waiting(path) : this.model.weight(path);
  }

  /** The part of a path's time that is waiting. */
  waitingPart(path) {
    const time = this.model.weight(path);
    return time > 0 ? Math.min(1, this.waiting(path) / time) : 0;
  }

  draw() {
    const { model } = this;
    const layout = icicle(model, this.root, roomIn(this.frame), (path) => this.weight(path));
    this.layout = layout;
    const { context, width, height } = prepare(this.canvas, Math.max(2, layout.depth) * BOX_ROW + 2);
    context.clearRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    const paintOf = this.coloured === "waiting" ? (path) => this.paints.part(this.waitingPart(path)) : this.paints.kinds();
    const [ink, line, chosen] = [colour("text"), colour("ground"), colour("accent")];
    for (const { path, x, width: wide, level } of layout.boxes) {
      const paint = paintOf(path);
      context.fillStyle = paint.fill;
      context.fillRect(x, level * BOX_ROW, Math.max(wide - 0.5, 0.5), BOX_ROW - 1);
      const isPale = model.hits.flags && !model.isHit(model.tree.region[path]);
      if (isPale) this.pale(context, x, level * BOX_ROW, wide, line);
      if (this.isUncertain(path) && wide > 4) this.hatch(context, x, level * BOX_ROW, wide, line);
      if (wide > 40) {
        context.fillStyle = isPale ? ink : paint.ink;
        context.fillText(shortName(model.pathName(path), Math.max(4, Math.floor((wide - 8) / 6.6))), x + 4, level * BOX_ROW + BOX_ROW / 2, wide - 6);
      }
    }
    const muted = this.paints.small();
    for (const box of layout.together) {
      context.fillStyle = muted.fill;
      context.fillRect(box.x, box.level * BOX_ROW, Math.max(box.width - 0.5, 0.5), BOX_ROW - 1);
      if (box.width <= 40) continue;
      context.fillStyle = muted.ink;
      const words = plural(box.count, "call path", "call paths");
      const hasRoom = context.measureText(words).width <= box.width - 6;
      context.fillText(hasRoom ? words : exactCount(box.count), box.x + 4, box.level * BOX_ROW + BOX_ROW / 2, box.width - 6);
    }
    const selected = layout.boxes.find(({ path }) => path === model.state.path);
    if (selected) {
      context.strokeStyle = chosen;
      context.lineWidth = 3;
      context.strokeRect(selected.x + 1.5, selected.level * BOX_ROW + 1.5, Math.max(3, selected.width - 3), BOX_ROW - 4);
    }
    const widest = layout.boxes.reduce((best, box) => (best === null || (box.level > 0 && box.width > best.width) ? box : best), null);
    this.canvas.setAttribute("aria-label", `Icicle of ${plural(layout.boxes.length, "call path", "call paths")}${this.narrowOnes()}${widest ? `; widest: ${model.pathName(widest.path)}` : ""}`);
    this.drawCrumbs();
    this.drawOverview();
    const shades = [sequential(0), sequential(1)].map(([red, green, blue]) => `rgb(${red},${green},${blue})`);
    const texts = this.coloured === "waiting" ? [[shades[0], "no waiting"], [shades[1], "all of it waiting"]] : this.paints.legend(layout.together.length > 0);
    this.legend.replaceChildren(...texts.map(([fill, text]) => this.paints.swatch(fill, text)));
    this.tell(model.state.path);
    if (!this.list.hidden) this.drawTable();
  }

  /** Those that are drawn together, as a part of a sentence. */
  narrowOnes() {
    const count = this.layout.together.reduce((sum, box) => sum + box.count, 0);
    return count ? ` and, drawn together, ${plural(count, "narrow one", "narrow ones")}` : "";
  }

  isUncertain(path) {
    const { tree } = this.model;
    return tree.mark[path] > 0 || Math.max(tree.inclusive_below[path], tree.inclusive_above[path]) > 0.1 * Math.abs(this.model.inclusive[path]);
  }

  /** What is not searched for steps back. */
  pale(context, x, y, width, ground) {
    context.save();
    context.globalAlpha = 0.7;
    context.fillStyle = ground;
    context.fillRect(x, y, Math.max(width - 0.5, 0.5), BOX_ROW - 1);
    context.restore();
  }

  hatch(context, x, y, width, ink) {
    context.save();
    context.beginPath();
    context.rect(x, y, width - 0.5, BOX_ROW - 1);
    context.clip();
    context.strokeStyle = ink;
    context.globalAlpha = 0.6;
    context.lineWidth = 1;
    context.beginPath();
    for (let at = x - BOX_ROW; at < x + width; at += 6) {
      context.moveTo(at, y + BOX_ROW);
      context.lineTo(at + BOX_ROW, y);
    }
    context.stroke();
    context.restore();
  }

  drawCrumbs() {
    const { model } = this;
    const paths = this.root === null ? [] : model.ancestry(this.root);
    const button = (text, root) => element("button", { type: "button", onclick: () => this.zoom(root) }, text);
    this.crumbs.replaceChildren(button("all", NONE), ...paths.map((path) => button(shortName(model.pathName(path), 32), path)));
  }

  /** Where in the whole what is shown lies. */
  drawOverview() {
    this.overview.hidden = this.root === null;
    if (this.root === null) return;
    const [from, to] = windowOf(this.model, this.root, (path) => this.weight(path));
    this.window.style.marginLeft = `${100 * from}%`;
    this.window.style.width = `${100 * (to - from)}%`;
    this.overview.setAttribute("aria-label", `What is shown is ${share(to - from)} of all, from ${share(from)} on`);
  }

  tell(path) {
    const { model } = this;
    if (path === NONE || path === undefined) {
      this.status.textContent = `${plural(this.layout.boxes.length, "call path", "call paths")} drawn; ${exactCount(this.layout.left)} narrower than half a pixel${this.narrowOnes() && ", neighbours drawn together"}${model.isOfRanks ? ` · times of ${model.rankText()}` : ""}`;
      return;
    }
    const { tree } = model;
    const whole = model.whole();
    const inclusive = model.pathInclusive(path);
    const ends = [tree.inclusive_below, tree.inclusive_above].map((column) => (model.state.values === "value" ? column[path] / model.divisor : 0));
    this.status.textContent = [
      model.pathName(path),
      model.isOfRanks ? model.rankText() : "",
      `inclusive ${alone(inclusive, ...ends)}`,
      `exclusive ${alone(model.pathExclusive(path), ...model.doubt(tree, path))}`,
      this.waiting(path) > 0 ? `waiting ${alone(this.waiting(path) / model.divisor)}` : "",
      `${plural(tree.calls[path], "call", "calls")}${tree.inexact[path] ? " at least" : ""}`,
      `${share(whole ? inclusive / whole : 0)} of all`,
      this.partOfShown(path),
      `on ${plural(tree.locations[path], "location", "locations")}`,
    ]
      .filter(Boolean)
      .join(" · ");
  }

  /** What a path has of what is zoomed into. A difference has no parts: some of them can be below zero. */
  partOfShown(path) {
    const { model, root } = this;
    if (root === null) return "";
    if (!model.ancestry(path).includes(root)) return "not in what is shown";
    return model.state.values === "difference" ? "" : `${share(model.pathInclusive(path) / model.pathInclusive(root))} of what is shown`;
  }

  /** What neighbours that are drawn together stand for. */
  tellTogether({ count, weight }) {
    const { model } = this;
    const [time, whole] = [weight / model.divisor, model.whole()];
    const what = this.width === "waiting" ? "waiting" : "inclusive";
    const part = this.width === "waiting" || !whole ? "" : ` · ${share(time / whole)} of all`;
    this.status.textContent = `${plural(count, "call path", "call paths")} side by side, each narrower than half a pixel · together ${what} ${alone(time)}${part}`;
  }

  at(event, boxes) {
    const box = this.canvas.getBoundingClientRect();
    const [x, level] = [event.clientX - box.left, Math.floor((event.clientY - box.top) / BOX_ROW)];
    return boxes.find((one) => one.level === level && x >= one.x && x < one.x + one.width);
  }

  click(event) {
    const box = this.at(event, this.layout.boxes);
    if (box) this.model.selectPath(box.path);
  }

  hover(event) {
    const box = this.at(event, this.layout.boxes);
    const together = box ? undefined : this.at(event, this.layout.together);
    this.canvas.title = together ? plural(together.count, "call path", "call paths") : "";
    if (together) this.tellTogether(together);
    else this.tell(box ? box.path : this.model.state.path);
  }

  zoom(path) {
    if (path !== undefined) this.model.change({ zoom: path });
  }

  goTo(path) {
    const root = path === NONE ? null : path;
    if (root === this.root) return;
    this.past.push(this.root);
    this.coming = [];
    this.root = root;
    this.draw();
  }

  /** One call path further out; false where all is shown. */
  zoomOut() {
    if (this.root === null) return false;
    this.zoom(this.model.tree.parent[this.root]);
    return true;
  }

  back() {
    this.step(this.past, this.coming);
  }

  forward() {
    this.step(this.coming, this.past);
  }

  step(from, to) {
    if (!from.length) return;
    to.push(this.root);
    this.root = from.pop();
    this.model.change({ zoom: this.root ?? NONE });
    this.draw();
  }

  key(event) {
    const { model } = this;
    const { tree, children } = model;
    const path = model.state.path === NONE ? (this.root ?? model.roots[0]) : model.state.path;
    const first = children.from[path + 1] > children.from[path] ? children.list[children.from[path]] : NONE;
    const beside = (step) => {
      const above = tree.parent[path];
      const row = above === NONE ? model.roots : Array.from(children.list.subarray(children.from[above], children.from[above + 1]));
      return row[row.indexOf(path) + step] ?? NONE;
    };
    const to = { ArrowDown: () => first, ArrowUp: () => tree.parent[path], ArrowLeft: () => beside(-1), ArrowRight: () => beside(1) };
    if (event.key in to) {
      const next = to[event.key]();
      if (next !== NONE) model.selectPath(next);
    } else if (event.key === "Enter") this.zoom(path);
    else if ((event.key === "Escape" && this.root !== null) || event.key === "Backspace") this.zoomOut();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** What the table lists. */
  widest() {
    const { boxes } = icicle(this.model, this.root, 1, (path) => this.weight(path), Number.MIN_VALUE);
    return boxes.sort((one, other) => other.width - one.width).slice(0, MOST_LISTED);
  }

  records() {
    const { model } = this;
    const rows = this.widest().map(({ path, level }) => [model.wholePath(path), level, seconds(model.pathInclusive(path)), seconds(model.pathExclusive(path))]);
    return [["call_path", "depth", model.inSeconds("inclusive"), model.inSeconds("exclusive")], ...rows];
  }

  drawTable() {
    const { model } = this;
    const widest = this.widest();
    const column = columnFor(widest.reduce((most, { path }) => Math.max(most, Math.abs(model.pathInclusive(path)), Math.abs(model.pathExclusive(path))), 0));
    const rows = widest.map(({ path, level }) =>
      element("tr", {}, element("th", { scope: "row", title: model.wholePath(path) }, shortName(model.pathName(path), 64)), ...[String(level), plain(model.pathInclusive(path), column), figure(model.pathExclusive(path), ...model.doubt(model.tree, path), column)].map((text) => element("td", {}, text))),
    );
    const head = ["Call path", "Depth", `Inclusive, ${column.name}`, `Exclusive, ${column.name}`];
    this.list.replaceChildren(figures(["The widest of what is shown"], head, rows));
  }
}
