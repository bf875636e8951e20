// Call paths and regions as the selected ranks have them, where the page carries theirs (src/html/of_ranks.rs).

import { decoded } from "./columns.js";
import { NONE } from "./model.js";

/** As many call paths are read at once with the page; more of them when ranks are first selected. */
const READ_AT_ONCE = 50000;

export class OfRanks {
  constructor(carried) {
    this.carried = carried;
    this.place = new Map(carried.processes.map((process, place) => [process, place]));
    this.isSmall = carried.paths.rows <= READ_AT_ONCE;
  }

  async load() {
    this.paths ??= await decoded(this.carried.paths);
  }

  /** The ranks among these that are not carried. */
  missing(processes) {
    return processes.filter((process) => !this.place.has(process));
  }

  /** The tree with the sums of these ranks in the place of those of all; what is uncertain in them is not carried. */
  tree(all, processes) {
    const columns = ["calls", "value", "taken_off", "wait", "measured_wait"];
    const sums = Object.fromEntries(columns.map((name) => [name, new Float64Array(all.rows)]));
    const locations = new Uint32Array(all.rows);
    for (const process of processes) {
      const place = this.place.get(process);
      for (let at = this.carried.from[place]; at < this.carried.from[place + 1]; at++) {
        const path = this.paths.path[at];
        for (const name of columns) sums[name][path] += this.paths[name][at];
        locations[path]++;
      }
    }
    const nothing = new Float32Array(all.rows);
    const certain = { below: nothing, above: nothing, inclusive_below: nothing, inclusive_above: nothing };
    // Figures are carried in four digits: their difference would have none where little was taken off.
    const measured = sums.value.map((seconds, path) => seconds + sums.taken_off[path]);
    return { ...all, ...sums, measured, locations, ...certain };
  }

  /** The regions of such a tree: `inclusive` are those of its paths, `outermost` says which of them count there. */
  regions(all, tree, [inclusive, measuredInclusive], outermost) {
    const columns = ["calls", "value", "measured", "wait", "measured_wait"];
    const sums = Object.fromEntries([...columns, "inclusive", "measured_inclusive"].map((name) => [name, new Float64Array(all.rows)]));
    for (let path = 0; path < tree.rows; path++) {
      const region = tree.region[path];
      if (region === NONE) continue;
      for (const name of columns) sums[name][region] += tree[name][path];
      if (!outermost[path]) continue;
      sums.inclusive[region] += inclusive[path];
      sums.measured_inclusive[region] += measuredInclusive[path];
    }
    const nothing = new Float32Array(all.rows);
    return { ...all, ...sums, below: nothing, above: nothing, inclusive_below: nothing, inclusive_above: nothing };
  }
}
