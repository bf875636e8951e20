// The run in memory: the call tree, its regions, and what is selected. Every view reads here and tells changes here.

import { exactCount, plural } from "./numbers.js";
import { OfRanks } from "./of-ranks.js";
import { quoted } from "./question.js";
import { hitsOf } from "./search.js";

export const NONE = 0xffffffff;

/** Inclusive times, summed from exclusive ones: no child exceeds its parent. */
export function inclusiveOf(parent, exclusive) {
  const sums = new Float64Array(exclusive.length);
  const children = new Float64Array(exclusive.length);
  for (let index = exclusive.length - 1; index >= 0; index--) {
    sums[index] = Math.max(exclusive[index] + sums[index], children[index]);
    const above = parent[index];
    if (above !== NONE) {
      sums[above] += sums[index];
      children[above] += Math.max(0, sums[index]);
    }
  }
  return sums;
}

/** Children of each path, the heaviest first: those of path i are `list[from[i]]` to `list[from[i + 1] - 1]`. */
export function childrenOf(parent, weight) {
  const rows = parent.length;
  const from = new Uint32Array(rows + 2);
  for (let index = 0; index < rows; index++) if (parent[index] !== NONE) from[parent[index] + 2]++;
  for (let index = 2; index < from.length; index++) from[index] += from[index - 1];
  const list = new Uint32Array(rows);
  for (let index = 0; index < rows; index++) if (parent[index] !== NONE) list[from[parent[index] + 1]++] = index;
  for (let index = 0; index < rows; index++) {
    if (from[index + 1] - from[index] > 1) list.subarray(from[index], from[index + 1]).sort((one, other) => weight[other] - weight[one] || one - other);
  }
  return { from, list };
}

export class Model {
  constructor(header, tree, regions, strings, [value, measured, difference]) {
    Object.assign(this, { header, strings });
    this.spreads = { value, measured, difference };
    this.all = { tree, regions };
    this.ofRanks = new OfRanks(header.of_ranks);
    this.isOfRanks = false;
    this.take(tree, regions, header.divisor);
    this.children = childrenOf(tree.parent, this.inclusive);
    this.roots = [];
    for (let index = 0; index < tree.rows; index++) if (tree.parent[index] === NONE) this.roots.push(index);
    this.roots.sort((one, other) => this.inclusive[other] - this.inclusive[one]);
    this.offered = header.mode === "off" ? ["measured"] : ["value", "measured", "difference"];
    this.state = { values: this.offered[0], region: NONE, path: NONE, zoom: NONE, ranks: [], query: "" };
    this.hits = hitsOf("", this);
    this.listeners = [];
  }

  /** Takes the figures that all views show: of all ranks, or of those that are selected. */
  take(tree, regions, divisor) {
    Object.assign(this, { tree, regions, divisor });
    this.inclusive = inclusiveOf(tree.parent, tree.value);
    this.measuredInclusive = inclusiveOf(tree.parent, tree.measured);
  }

  /** Shows the selected ranks, where the page carries their call paths; else all. */
  followRanks() {
    const { ranks } = this.state;
    const isOfRanks = ranks.length > 0 && ranks.length < this.strings.labels.length && !this.ofRanks.missing(ranks).length;
    if (isOfRanks && !this.ofRanks.paths) {
      this.ofRanks.load().then(() => this.followRanks() && this.tell(["ranks"]));
      return false;
    }
    if (!isOfRanks && !this.isOfRanks) return false;
    const { tree, regions } = this.all;
    this.isOfRanks = isOfRanks;
    this.take(isOfRanks ? this.ofRanks.tree(tree, ranks) : tree, regions, isOfRanks ? ranks.length : this.header.divisor);
    if (isOfRanks) {
      const outermost = this.outermost((path) => this.tree.region[path]);
      this.regions = this.ofRanks.regions(regions, this.tree, [this.inclusive, this.measuredInclusive], outermost);
    }
    this.hits = hitsOf(this.state.query, this);
    return true;
  }

  /** Whose times are shown, where ranks are selected. */
  ofWhom() {
    const { ranks } = this.state;
    if (!ranks.length || ranks.length === this.strings.labels.length) return "";
    if (this.isOfRanks) return `Times ${ranks.length === 1 ? `of ${this.rankText()} alone` : `are means over ${this.rankText()}`}; how uncertain they are is known of all ranks together.`;
    const { processes } = this.ofRanks.carried;
    const first = this.ofRanks.missing(ranks)[0];
    if (first === undefined) return "";
    const label = this.strings.labels[first];
    return `Times are of all ranks: this page has the call paths of ${plural(processes.length, "rank", "ranks")} of ${exactCount(this.strings.labels.length)}, and not those of ${label}. tare report ${quoted(this.header.directory)} --format html --ranks ${label} -o DIR has them.`;
  }

  /** Changes what is selected and tells every view. */
  change(patch) {
    const changed = Object.keys(patch).filter((key) => String(this.state[key]) !== String(patch[key]));
    if (changed.length === 0) return;
    Object.assign(this.state, patch);
    if (changed.includes("ranks")) this.followRanks();
    if (changed.some((key) => key === "query" || key === "values")) this.hits = hitsOf(this.state.query, this);
    this.tell(changed);
  }

  /** Goes on to the next of the values that are offered. */
  cycleValues() {
    this.change({ values: this.offered[(this.offered.indexOf(this.state.values) + 1) % this.offered.length] });
  }

  /** Tells every view that this is not as it was. */
  tell(changed) {
    this.listeners.forEach((listener) => listener(changed));
  }

  listen(listener) {
    this.listeners.push(listener);
  }

  /** Selects a path with its region. */
  selectPath(path) {
    this.change({ path, region: this.tree.region[path] });
  }

  /** Selects a region, at its heaviest path. */
  selectRegion(region) {
    if (region === this.state.region) return;
    let path = NONE;
    for (let index = 0; index < this.tree.rows; index++) {
      if (this.tree.region[index] === region && (path === NONE || this.inclusive[index] > this.inclusive[path])) path = index;
    }
    this.change({ region, path });
  }

  /** What ranks are called, of those that are selected; none where all are meant. */
  rankLabels() {
    return new Set(this.state.ranks.map((process) => this.strings.labels[process]));
  }

  /** The selected ranks, as they are written: `rank 3`, `ranks 0-3,8`. */
  rankText() {
    const { ranks } = this.state;
    const word = this.header.ranks > 0 ? "rank" : "process";
    const plural = this.header.ranks > 0 ? "ranks" : "processes";
    return ranks.length ? `${ranks.length === 1 ? word : plural} ${this.rankList()}` : "";
  }

  /** `0-3,8`: runs of processes by the labels of their ends. */
  rankList() {
    const runs = [];
    for (const process of this.state.ranks) {
      const last = runs[runs.length - 1];
      if (last && last[1] === process - 1) last[1] = process;
      else runs.push([process, process]);
    }
    const label = (process) => this.strings.labels[process];
    return runs.map(([from, to]) => (from === to ? label(from) : `${label(from)}-${label(to)}`)).join(",");
  }

  /** Selects ranks by what somebody writes: `0-3,8`, `max`, `slowest 8`, `host:NAME`; nothing means all. Says what it did not find. */
  selectRanks(text) {
    const { labels, hosts } = this.strings;
    const chosen = new Set();
    for (const part of text.replace(/\bslowest[\s:]+(?=\d)/g, "slowest:").split(/[\s,]+/).filter(Boolean)) {
      const [from, to = from] = part.split(/[-–]/);
      const found = [];
      const isOfRegion = part === "max" || part.startsWith("slowest");
      if (isOfRegion && this.state.region === NONE) return `${part.split(":")[0]} is of a region: select one`;
      if (part === "max") found.push(this.spread().most_at[this.state.region]);
      else if (isOfRegion) {
        const slowest = this.slowest(this.state.region, Number(part.split(":")[1] ?? 1));
        if (typeof slowest === "string") return slowest;
        found.push(...slowest);
      } else if (part.startsWith("host:")) hosts.forEach((host, process) => host === part.slice(5) && found.push(process));
      else if (labels.includes(from) && labels.includes(to)) for (let process = labels.indexOf(from); process <= labels.indexOf(to); process++) found.push(process);
      if (!found.length) return `there is no ${part}`;
      found.forEach((process) => chosen.add(process));
    }
    this.change({ ranks: [...chosen].sort((one, other) => one - other) });
    return "";
  }

  pick(value, measured) {
    const values = this.state.values;
    return (values === "value" ? value : values === "measured" ? measured : measured - value) / this.divisor;
  }

  /** How what is shown spreads over the ranks: columns by region. */
  spread() {
    return this.spreads[this.state.values];
  }

  /** What a column of seconds of what is shown is called, as in `tare report --format csv`: `exclusive_s`, `exclusive_measured_s`. */
  inSeconds(what) {
    return [what, this.word(), "s"].filter(Boolean).join("_").replaceAll(" ", "_");
  }

  /** What a figure is of which there is a compensated one as well; nothing for that. */
  word() {
    return { value: "", measured: this.header.is_exported ? "" : "measured", difference: "taken off" }[this.state.values];
  }

  /** Whether a region was ever met, on whichever rank: one that the selected ranks were never in has no time, and is still there. */
  isMet(region) {
    const { calls, measured } = this.all.regions;
    return calls[region] > 0 || measured[region] > 0;
  }

  /** Whether a region is among what is searched for; nothing is where nothing is. */
  isHit(region) {
    return Boolean(this.hits.flags && region !== undefined && region !== NONE && this.hits.flags[region]);
  }

  /** For each path whether it has a key, and none above it has the same: `NONE` is no key. */
  outermost(keyOf) {
    const { from, list } = this.children;
    const [open, found] = [new Map(), new Uint8Array(this.tree.rows)];
    const stack = [...this.roots];
    while (stack.length) {
      const path = stack.pop();
      // A path stands on the stack again, as its complement, until all below it is done.
      const key = keyOf(path < 0 ? ~path : path);
      const number = open.get(key) || 0;
      if (path < 0) {
        open.set(key, number - 1);
        continue;
      }
      found[path] = key !== NONE && number === 0 ? 1 : 0;
      open.set(key, number + 1);
      stack.push(~path);
      for (let index = from[path]; index < from[path + 1]; index++) stack.push(list[index]);
    }
    return found;
  }

  pathExclusive(path) {
    return this.pick(this.tree.value[path], this.tree.measured[path]);
  }

  pathInclusive(path) {
    return this.pick(this.inclusive[path], this.measuredInclusive[path]);
  }

  /** How far down and up the exclusive time of a row may be off, and whether it is marked, as `figure` and `alone` take it: known of compensated times. */
  doubt(table, index) {
    if (this.state.values !== "value") return [0, 0, false];
    return [table.below[index] / this.divisor, table.above[index] / this.divisor, table.mark[index] > 0];
  }

  /** The inclusive time that gives boxes their width: of what is shown, never of a difference. */
  weight(path) {
    return this.state.values === "measured" ? this.measuredInclusive[path] : this.inclusive[path];
  }

  regionExclusive(region) {
    return this.pick(this.regions.value[region], this.regions.measured[region]);
  }

  /** What shares are of. */
  whole() {
    return this.wholeOf(this.state.values === "measured" ? this.measuredInclusive : this.inclusive);
  }

  /** What was taken off altogether. */
  wholeDifference() {
    return this.wholeOf(this.measuredInclusive) - this.wholeOf(this.inclusive);
  }

  wholeOf(inclusive) {
    return this.roots.reduce((sum, root) => sum + inclusive[root], 0) / this.divisor;
  }

  name(region) {
    return region === NONE ? "(small call paths)" : this.strings.names[region];
  }

  /** The name of a region as the commands have it, also where it cannot be shown. */
  fullName(region) {
    return this.strings.unshown[region] ?? this.strings.names[region];
  }

  pathName(path) {
    const region = this.tree.region[path];
    return region === NONE ? `(${plural(this.tree.folded[path], "small call path", "small call paths")})` : this.strings.names[region];
  }

  kind(region) {
    return region === NONE ? "folded" : this.header.kinds[this.regions.kind[region]];
  }

  file(region) {
    return region === NONE ? "" : this.strings.files[this.regions.file[region]];
  }

  /** 0 where it is not known. */
  line(region) {
    return region === NONE ? 0 : this.regions.line[region];
  }

  /** `file:line`, or nothing where that is not known. */
  place(region) {
    const file = this.file(region).split("/").pop();
    const line = this.line(region);
    return file && line ? `${file}:${line}` : file;
  }

  mark(number) {
    return number ? this.header.marks[number - 1] : "";
  }

  /** `main;solve;dot`: the names from a root to this path, as collapsed stacks have them. */
  wholePath(path) {
    return this.ancestry(path).map((at) => this.pathName(at).replaceAll(";", ":")).join(";");
  }

  /** The paths from a root to this one. */
  ancestry(path) {
    const paths = [];
    for (let at = path; at !== NONE; at = this.tree.parent[at]) paths.unshift(at);
    return paths;
  }
}
