// The table of regions: flat, as the call tree, or grouped by file, image or kind.

import { alone, columnDownTo, columnFor, count, exactCount, excess, figure, plain, plural, share } from "./numbers.js";
import { NONE } from "./model.js";
import { breakable, byId, choice, cutName, element, placeOf, say, shortName, textWidth } from "./dom.js";
import { VirtualTable } from "./table.js";

const SHAPES = [["flat", "flat"], ["tree", "call tree"], ["file", "by file"], ["image", "by image"], ["kind", "by kind"]];

/** Characters of names: those on paper take two lines at most. */
const [LEAST_NAME, NAME_ON_PAPER] = [8, 44];
/** The least and the most room for exclusive times, pixels; as much as their intervals need. */
const [LEAST_EXCLUSIVE, MOST_EXCLUSIVE] = [120, 300];

/** What columns take that are left out where they hold nothing, pixels, as the style has them. */
const [WAIT, SPREAD, PLACE] = [128, 124, 100];

/** What a shape is sorted by where nothing else is chosen: a tree reads along its heaviest path. */
const firstSort = (shape) => (shape === "tree" ? "inclusive" : "exclusive");

export class Regions {
  constructor(model) {
    this.model = model;
    this.shape = "tree";
    this.sorted = firstSort(this.shape);
    this.isDescending = true;
    this.hasPlaces = model.regions.line.some((line) => line > 0) || model.strings.files.some(Boolean);
    this.hasWaits = [model.regions.wait, model.regions.measured_wait].some((waits) => waits.some((wait) => wait > 0));
    this.hasSpread = model.strings.labels.length > 1;
    this.open = new Set();
    this.then = { key: "name", isDescending: false };
    const section = byId("regions");
    this.note = element("p", { class: "muted", id: "hits" });
    this.choice = choice("Shown", SHAPES, this.shape, (value) => this.setShape(value));
    this.whom = element("p", { class: "muted", id: "of-ranks" });
    section.append(element("div", { class: "bar" }, this.choice, this.note), this.whom);
    this.table = new VirtualTable(section, {
      label: "Regions",
      columns: [],
      height: 26 * 16,
      onPaper: 40,
      rows: () => this.items.length,
      fill: (index) => this.fill(this.items[index]),
      act: (index, what) => this.act(this.items[index], what),
      sort: (key) => this.sortBy(key),
    });
    this.openHeaviest();
    model.listen((changed) => this.changed(changed));
    this.arrange();
  }

  changed(changed) {
    if (changed.includes("query")) this.search();
    else {
      if (changed.includes("values") || changed.includes("ranks")) {
        this.addInclusive(this.items.filter((item) => item.members));
        this.label();
        this.tellHits();
      }
      if (changed.includes("region") || changed.includes("path")) this.follow();
    }
  }

  search() {
    const { flags } = this.model.hits;
    this.tellHits();
    say(this.note.textContent);
    if (flags && this.shape === "tree") this.openHits();
    this.arrange();
    if (flags) this.goToHit(0, 1);
  }

  /** How many hits there are, what they have of what is shown, and that what is selected is none. */
  tellHits() {
    const { model } = this;
    const { error, flags, number, time } = model.hits;
    const { region } = model.state;
    const isMissed = flags && region !== NONE && !model.isHit(region);
    const missed = isMissed ? `; ${model.name(region)}, which is selected, is not among them` : "";
    // What is taken off a region can be below zero, so that parts of it are none of the whole.
    const isDifference = model.state.values === "difference";
    const part = isDifference ? `${alone(time)} of ${alone(model.wholeDifference())} taken off` : `${share(model.whole() ? time / model.whole() : 0)} of the time`;
    this.note.textContent = error || (flags ? `${plural(number, "region matches", "regions match")}, ${part}${missed}` : "");
  }

  /** Brings the next hit at or behind a row into sight, or the one before it; from the end it goes on at the other one. */
  goToHit(from, step) {
    const { items } = this;
    for (let tried = 0; tried < items.length; tried++) {
      const row = (((from + step * tried) % items.length) + items.length) % items.length;
      if (!this.isHit(items[row])) continue;
      byId("regions").scrollIntoView({ block: "nearest" });
      this.table.show(row);
      return;
    }
  }

  /** Selects it, so that all views follow. */
  chooseHit(from, step) {
    this.goToHit(from, step);
    const item = this.items[this.table.focus];
    if (!item || !this.isHit(item)) return;
    if (item.path !== undefined) this.model.selectPath(item.path);
    else this.model.selectRegion(item.region);
    this.table.show(this.table.focus);
  }

  /** Arrows go on from there. */
  toFirstHit() {
    this.chooseHit(0, 1);
    this.table.root.focus({ preventScroll: true });
  }

  nextHit(step) {
    if (this.model.hits.flags) this.chooseHit(this.table.focus + step, step);
  }

  isHit(item) {
    const region = item.path === undefined ? item.region : this.model.tree.region[item.path];
    return this.model.isHit(region);
  }

  setShape(shape) {
    if (this.sorted === firstSort(this.shape)) this.sorted = firstSort(shape);
    this.shape = shape;
    this.choice.querySelector("select").value = shape;
    this.open.clear();
    this.openHeaviest();
    this.arrange();
  }

  sortBy(key) {
    if (this.sorted !== key) this.then = { key: this.sorted, isDescending: this.isDescending };
    this.isDescending = this.sorted === key && this.isInOrder() ? !this.isDescending : key !== "name";
    this.sorted = key;
    this.arrange();
  }

  /** A tree opens along its heaviest path. */
  openHeaviest() {
    const { children, roots } = this.model;
    let path = roots[0];
    while (this.shape === "tree" && path !== undefined && children.from[path + 1] > children.from[path]) {
      this.open.add(path);
      path = children.list[children.from[path]];
    }
  }

  openHits() {
    const { tree } = this.model;
    const most = 500;
    let opened = 0;
    for (let path = 0; path < tree.rows && opened < most; path++) {
      if (!this.model.isHit(tree.region[path])) continue;
      opened++;
      for (let above = tree.parent[path]; above !== NONE && !this.open.has(above); above = tree.parent[above]) this.open.add(above);
    }
  }

  /** The rows in their order: paths, regions or groups. */
  arrange(focus) {
    this.items = this.shape === "tree" ? this.paths() : this.shape === "flat" ? this.flat() : this.groups();
    this.values = this.valuesShown();
    this.label(focus);
  }

  /** Of which values and of which ranks the figures are. */
  valuesShown() {
    const { model } = this;
    return `${model.state.values} ${model.isOfRanks ? model.state.ranks : ""}`;
  }

  /** Whether the rows stand as they are sorted: other values of them are shown where they stood. */
  isInOrder() {
    return this.values === this.valuesShown() || this.sorted === "name" || this.sorted === "place";
  }

  /** Heads and units of the rows as they stand: none moves when their values change. */
  label(focus) {
    const rows = this.items.slice(0, 2000);
    const most = (of) => rows.reduce((most, item) => Math.max(most, Math.abs(of(item) ?? 0)), 0);
    const largest = most((item) => this.of(item, "exclusive"));
    // A column without a value has the unit of those beside it.
    this.column = columnFor(largest);
    this.inclusiveColumn = columnFor(Math.max(Math.abs(this.model.whole()), most((item) => this.of(item, "inclusive"))));
    this.waitColumn = columnFor(most((item) => this.of(item, "wait")) || largest);
    this.eachColumn = columnDownTo(this.middleCall(), most((item) => this.of(item, "each")) || largest);
    this.ranksColumn = columnFor(most((item) => this.onRanks(item)) || largest);
    const [unit, wide, wait] = [this.column, this.inclusiveColumn, this.waitColumn].map(({ name }) => name);
    const word = this.model.word();
    const isDifference = this.model.state.values === "difference";
    if (isDifference && this.hasSpread) this.mostColumn = columnFor(this.model.spread().most.reduce((largest, most) => Math.max(largest, Math.abs(most)), 0) || largest);
    const chosen = this.model.state.ranks.length > 4 ? `${exactCount(this.model.state.ranks.length)} ranks` : this.model.rankText();
    // Where the whole table is of the selected ranks, they need no column of their own.
    const [of, ranks] = this.model.isOfRanks ? [` on ${chosen}`, ""] : ["", chosen];
    this.whom.textContent = this.model.ofWhom();
    this.table.setColumns(
      [
        { key: "name", title: "Region" },
        { key: "exclusive", title: `Exclusive${word && ` ${word}`}${of}, ${unit}`, align: "number", hint: `Time in the region itself, mean over ${of ? "the selected " : ""}ranks${isDifference ? "; below zero where it would have taken longer unmeasured, as a wait that measuring shortened" : ""}` },
        { key: "share", title: "Share", align: "number", hint: isDifference ? "What is taken off, as a part of the compensated time of the run" : "Part of the time of the run" },
        { key: "inclusive", title: `Inclusive, ${wide}`, align: "number", hint: "With what it calls" },
        { key: "calls", title: "Calls", align: "number" },
        { key: "each", title: `Per call, ${this.eachColumn.name}`, align: "number", hint: "Exclusive time of a call" },
        ...(this.hasWaits ? [{ key: "wait", title: `Waiting, ${wait}`, align: "number" }] : []),
        ...(this.hasSpread && ranks ? [{ key: "spread", title: `On ${ranks}, ${this.ranksColumn.name}`, align: "number", hint: `Exclusive time on the selected ranks, mean over them, on all call paths of the region; – where each rank's time is not carried` }] : []),
        ...(this.hasSpread && !ranks ? [{ key: "spread", title: isDifference ? `Most, ${this.mostColumn.name}` : "Most", align: "number", hint: isDifference ? "The rank of which most is taken off in the region, on all its call paths, and how much" : "The rank that spends most in the region, on all its call paths, and how far it is above the mean" }] : []),
        ...(this.hasPlaces ? [{ key: "place", title: "Place" }] : []),
      ],
      this.isInOrder() ? this.sorted : "",
      this.isDescending,
    );
    this.table.root.style.setProperty("--unused", `${(this.hasWaits ? 0 : WAIT) + (this.hasSpread ? 0 : SPREAD) + (this.hasPlaces ? 0 : PLACE)}px`);
    this.table.root.style.setProperty("--exclusive", `${this.exclusiveWidth()}px`);
    this.table.refresh(focus);
  }

  /** The middle one of all regions' times of a call, as some regions are called once for the whole run. */
  middleCall() {
    const values = this.valuesShown();
    if (this.calls?.values !== values) {
      const { regions } = this.model;
      const times = Float64Array.from({ length: regions.rows }, (_, region) => Math.abs(this.of({ region }, "each"))).filter((time) => time > 0).sort();
      this.calls = { values, middle: times[times.length >> 1] ?? 0 };
    }
    return this.calls.middle;
  }

  /** How wide the heading and the figures of exclusive times are; names have the rest. */
  exclusiveWidth() {
    const { head, body } = this.table;
    const heading = head.querySelector(".c-exclusive");
    const texts = this.items.slice(0, 2000).map((item) => this.interval(item, this.of(item, "exclusive")));
    const longest = texts.reduce((one, other) => (other.length > one.length ? other : one), "");
    const most = Math.max(textWidth(longest, body), textWidth(heading.textContent, heading.firstChild));
    return Math.ceil(Math.max(LEAST_EXCLUSIVE, Math.min(MOST_EXCLUSIVE, 1.04 * most + 20)));
  }

  /** Characters of a name that have room in its column. */
  roomFor(name, level = -1) {
    if (this.table.isOnPaper) return NAME_ON_PAPER;
    const { head, body, root } = this.table;
    const indent = level < 0 ? 0 : 16 + Math.min(level, 20) * parseFloat(getComputedStyle(root).getPropertyValue("--step"));
    const wide = head.firstChild.clientWidth - 14 - indent;
    let room = Math.floor((name.length * wide) / textWidth(name, body));
    // Letters are not all as wide as those of the whole name.
    while (room > LEAST_NAME && textWidth(shortName(name, room), body) > wide) room--;
    return Math.max(LEAST_NAME, room);
  }

  paths() {
    const { model } = this;
    const { from, list } = model.children;
    const items = [];
    const visit = (paths, level) => {
      const sorted = this.ordered(paths.map((path) => ({ path, level })));
      for (let index = sorted.length - 1; index >= 0; index--) stack.push({ ...sorted[index], place: index + 1, among: sorted.length });
    };
    const stack = [];
    visit(model.roots, 0);
    while (stack.length) {
      const item = stack.pop();
      items.push(item);
      if (this.open.has(item.path)) visit(Array.from(list.subarray(from[item.path], from[item.path + 1])), item.level + 1);
    }
    return items;
  }

  flat() {
    const { model } = this;
    const items = [];
    for (let region = 0; region < model.regions.rows; region++) {
      if (model.hits.flags ? model.isHit(region) : model.isMet(region)) items.push({ region });
    }
    return this.ordered(items);
  }

  groups() {
    const { model, shape } = this;
    const known = new Map();
    for (const { region } of this.flat()) {
      const key = shape === "file" ? model.file(region) : shape === "image" ? model.strings.images[model.regions.image[region]] : model.kind(region);
      if (!known.has(key)) known.set(key, { group: key || "(not known)", members: [] });
      known.get(key).members.push(region);
    }
    this.addInclusive([...known.values()]);
    const items = [];
    for (const item of this.ordered([...known.values()])) {
      items.push(item);
      if (this.open.has(item.group)) items.push(...item.members.map((region) => ({ region, level: 1 })));
    }
    return items;
  }

  /** The inclusive time of a group: of its calls that are within no other of its calls. Not known where call paths are folded. */
  addInclusive(groups) {
    const { model } = this;
    if (model.header.folded_paths || !groups.length) return;
    const of = new Uint32Array(model.regions.rows).fill(NONE);
    groups.forEach((group, index) => group.members.forEach((region) => (of[region] = index)));
    const outermost = model.outermost((path) => of[model.tree.region[path]]);
    groups.forEach((group) => (group.inclusive = 0));
    for (let path = 0; path < model.tree.rows; path++) if (outermost[path]) groups[of[model.tree.region[path]]].inclusive += model.pathInclusive(path);
  }

  ordered(items) {
    const keys = [{ key: this.sorted, isDescending: this.isDescending }, this.then];
    const of = (item, key) => (key === "name" || key === "place" ? this.text(item, key) : this.of(item, key));
    const keyed = items.map((item) => ({ item, by: keys.map(({ key }) => of(item, key)) }));
    const order = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
    const sides = keys.map(({ isDescending }) => (isDescending ? -1 : 1));
    keyed.sort((one, other) => sides[0] * order(one.by[0], other.by[0]) || sides[1] * order(one.by[1], other.by[1]));
    return keyed.map(({ item }) => item);
  }

  text(item, key) {
    if (item.group !== undefined) return item.group;
    const region = item.path === undefined ? item.region : this.model.tree.region[item.path];
    return key === "place" ? this.model.place(region) : this.model.name(region);
  }

  /** A number of a row. */
  of(item, key) {
    const { model } = this;
    if (item.members) return this.ofGroup(item, key);
    const [table, index] = item.path === undefined ? [model.regions, item.region] : [model.tree, item.path];
    const exclusive = item.path === undefined ? model.regionExclusive(index) : model.pathExclusive(index);
    switch (key) {
      case "exclusive":
        return exclusive;
      case "inclusive":
        return item.path === undefined ? model.pick(table.inclusive[index], table.measured_inclusive[index]) : model.pathInclusive(index);
      case "share":
        return model.whole() ? exclusive / model.whole() : 0;
      case "calls":
        return table.calls[index];
      case "each":
        return table.calls[index] ? (exclusive * model.divisor) / table.calls[index] : 0;
      case "wait":
        return model.pick(table.wait[index], table.measured_wait[index]);
      case "spread": {
        const region = item.path === undefined ? item.region : model.tree.region[item.path];
        if (region === NONE) return 0;
        if (this.hasRanksColumn()) return this.onRanks(item) ?? 0;
        const { most, mean } = model.spread();
        if (model.state.values === "difference") return most[region];
        return mean[region] > 0 ? most[region] / mean[region] - 1 : 0;
      }
      default:
        return 0;
    }
  }

  ofGroup(group, key) {
    const sum = (key) => group.members.reduce((sum, region) => sum + this.of({ region }, key), 0);
    switch (key) {
      case "inclusive":
        return group.inclusive ?? 0;
      case "each": {
        const calls = sum("calls");
        return calls ? (sum("exclusive") * this.model.divisor) / calls : 0;
      }
      case "spread":
        return 0;
      default:
        return sum(key);
    }
  }

  fill(item) {
    const { model } = this;
    const isPath = item.path !== undefined;
    const region = isPath ? model.tree.region[item.path] : item.region;
    const exclusive = this.of(item, "exclusive");
    const part = this.of(item, "share");
    const bar = element("i", { class: "bar-of", "aria-hidden": "true" });
    bar.style.width = `${Math.max(0, Math.min(100, 100 * part))}%`;
    const calls = this.of(item, "calls");
    const name = item.group !== undefined ? `${item.group} (${item.members.length})` : isPath ? model.pathName(item.path) : model.name(region);
    const children = isPath ? model.children.from[item.path + 1] - model.children.from[item.path] : 0;
    const canOpen = isPath ? children > 0 : item.group !== undefined;
    const level = isPath ? item.level : this.shape === "flat" ? undefined : item.level || 0;
    const wait = this.of(item, "wait");
    const label = cutName(name, this.roomFor(name, level), { class: this.isHit(item) ? "hit" : "" });
    if (this.table.isOnPaper) label.replaceChildren(...breakable(label.textContent));
    const mark = isPath ? model.tree.mark[item.path] : item.members ? 0 : model.regions.mark[item.region];
    const time = this.interval(item, exclusive);
    return {
      level,
      place: item.place,
      among: item.among,
      expanded: canOpen ? this.open.has(isPath ? item.path : item.group) : undefined,
      name,
      selected: isPath ? item.path === model.state.path : region !== undefined && region === model.state.region,
      cells: [
        label,
        mark && model.state.values === "value" ? element("span", { title: `not to be trusted: ${model.mark(mark)}` }, time) : time,
        element("span", { class: "shared" }, bar, share(part)),
        item.members && item.inclusive === undefined ? "–" : plain(this.of(item, "inclusive"), this.inclusiveColumn),
        calls ? count(calls) : "",
        calls ? plain(this.of(item, "each"), this.eachColumn) : "",
        ...(this.hasWaits ? [wait ? plain(wait, this.waitColumn) : ""] : []),
        ...(this.hasSpread ? [this.hasRanksColumn() ? this.selectedRanks(item) : this.most(region)] : []),
        region === undefined ? "" : placeOf(model.place(region)),
      ],
    };
  }

  interval(item, exclusive) {
    const { model } = this;
    if (item.members) return plain(exclusive, this.column);
    const [table, index] = item.path === undefined ? [model.regions, item.region] : [model.tree, item.path];
    return figure(exclusive, ...model.doubt(table, index), this.column);
  }

  /** Whether selected ranks stand beside the times of all, whose call paths the page does not carry. */
  hasRanksColumn() {
    return this.model.state.ranks.length > 0 && !this.model.isOfRanks;
  }

  /** What the selected ranks spend in the region of a row; nothing where each rank's time is not carried. */
  onRanks(item) {
    const region = item.path === undefined ? item.region : this.model.tree.region[item.path];
    return this.hasRanksColumn() && region !== undefined ? this.model.onRanks?.(region) : undefined;
  }

  selectedRanks(item) {
    const time = this.onRanks(item);
    return time === undefined ? (item.members ? "" : "–") : plain(time, this.ranksColumn);
  }

  most(region) {
    const { strings, header, state } = this.model;
    if (region === undefined || region === NONE || header.ranks < 2) return "";
    const { mean, most, most_at: at } = this.model.spread();
    const label = strings.labels[at[region]];
    if (state.values === "difference") return most[region] > 0 ? `${label} (${plain(most[region], this.mostColumn)})` : "";
    const ahead = mean[region] > 0 ? most[region] / mean[region] - 1 : 0;
    if (ahead < 0.005) return "";
    return `${label} (${excess(ahead)})`;
  }

  act(item, what) {
    if (!item) return;
    const { model } = this;
    const key = item.path !== undefined ? item.path : item.group;
    if (what === "select" || what === "enter") {
      if (item.path !== undefined) model.selectPath(item.path);
      else if (item.region !== undefined) model.selectRegion(item.region);
      if (what === "enter") model.change({ zoom: model.state.path });
      if (what === "enter" && item.group !== undefined) this.toggle(key);
    } else if (key !== undefined && this.open.has(key) !== (what === "open")) this.toggle(key);
    else if (what === "close" && item.path !== undefined && model.tree.parent[item.path] !== NONE) {
      this.table.moveTo(this.items.findIndex((other) => other.path === model.tree.parent[item.path]));
    } else if (what === "open" && this.open.has(key)) this.table.moveTo(this.table.focus + 1);
  }

  toggle(key) {
    if (!this.open.delete(key)) this.open.add(key);
    this.arrange();
  }

  /** What is selected elsewhere is shown here. */
  follow() {
    this.tellHits();
    const { state, tree } = this.model;
    if (this.shape === "tree" && state.path !== NONE) {
      let isNew = false;
      for (let above = tree.parent[state.path]; above !== NONE; above = tree.parent[above]) {
        if (!this.open.has(above)) isNew = this.open.add(above);
      }
      if (isNew) {
        this.items = this.paths();
        this.label();
      }
    }
    const place = this.items.findIndex((item) => (item.path !== undefined ? item.path === state.path : item.region === state.region));
    this.table.refresh(place >= 0 ? place : undefined);
    if (place >= 0) {
      this.table.reveal();
      this.table.draw();
    }
  }
}
