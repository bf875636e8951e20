// Where the boxes of a region's callers and callees stand: pure, so that a drawing can be tested as a list.

import { NONE } from "./model.js";

/** Levels on either side; the icicle has what lies beyond them. */
const MOST_LEVELS = 32;

/** Paths of a region that do not stand within another one of it. A path stands behind its parent in the tree. */
function outermostOf(tree, region) {
  const within = new Uint8Array(tree.rows);
  const found = [];
  for (let path = 0; path < tree.rows; path++) {
    const above = tree.parent[path];
    if (above !== NONE && (within[above] || tree.region[above] === region)) within[path] = 1;
    else if (tree.region[path] === region) found.push(path);
  }
  return found;
}

/** Steps from paths to what calls them: the time of a path stays with it on its way up. */
function toCallers({ tree }) {
  return (path, weight, go) => tree.parent[path] !== NONE && go(tree.parent[path], weight);
}

/** Steps from paths to what they call, each with its own time. */
function toCallees({ children: { from, list } }, weightOf) {
  return (path, _, go) => {
    for (let index = from[path]; index < from[path + 1]; index++) go(list[index], Math.max(0, weightOf(list[index])));
  };
}

/** What a box leads to, one step away: paths of the same region are one box. The widest stands first; those below the least weight are counted. */
function beyond(tree, box, step, least) {
  const weights = new Map();
  const each = (go) => box.paths.forEach((path, at) => step(path, box.weights[at], go));
  each((next, weight) => weights.set(tree.region[next], (weights.get(tree.region[next]) ?? 0) + weight));
  const groups = new Map();
  for (const [region, weight] of weights) if (weight >= least) groups.set(region, { region, weight, paths: [], weights: [] });
  each((next, weight) => {
    const group = groups.get(tree.region[next]);
    group?.paths.push(next);
    group?.weights.push(weight);
  });
  const wide = [...groups.values()].sort((one, other) => other.weight - one.weight || one.region - other.region);
  return { wide, narrow: weights.size - wide.length };
}

/**
 * Boxes within `width`: the region (level 0), who calls it (−1, −2, …), and what it calls (1, 2, …). A box of a caller is as wide as the time of the
 * region below it, that of a callee as its time below the region. What is narrower than half a pixel, or further away, is counted.
 */
export function sandwich(model, region, width, weightOf, least = 0.5) {
  const paths = outermostOf(model.tree, region);
  const weights = paths.map((path) => Math.max(0, weightOf(path)));
  const weight = weights.reduce((sum, one) => sum + one, 0);
  if (!(weight > 0)) return { boxes: [], above: 0, below: 0, left: 0 };
  const scale = width / weight;
  const boxes = [{ region, paths, weights, weight, x: 0, width, level: 0 }];
  let left = 0;
  const spread = (direction, step) => {
    let furthest = 0;
    const stack = [boxes[0]];
    while (stack.length) {
      const box = stack.pop();
      let { x } = box;
      const { wide, narrow } = beyond(model.tree, box, step, least / scale);
      left += narrow;
      if (Math.abs(box.level) === MOST_LEVELS) {
        left += wide.length;
        continue;
      }
      for (const group of wide) {
        const next = { ...group, x, width: group.weight * scale, level: box.level + direction };
        x += next.width;
        furthest = Math.max(furthest, Math.abs(next.level));
        boxes.push(next);
        stack.push(next);
      }
    }
    return furthest;
  };
  const above = spread(-1, toCallers(model));
  const below = spread(1, toCallees(model, weightOf));
  return { boxes, above, below, left };
}
