// Where the boxes of an icicle stand: pure, so that a drawing can be tested as a list.

import { NONE } from "./model.js";

/** Boxes from `root` (or from all roots) within `width`, as wide as their weight; what is narrower than half a pixel is left out. */
export function icicle(model, root, width, weight, least = 0.5) {
  const boxes = [];
  const starts = root === null ? model.roots : [root];
  const whole = starts.reduce((sum, start) => sum + Math.max(0, weight(start)), 0);
  if (!(whole > 0)) return { boxes, depth: 0, left: 0 };
  const scale = width / whole;
  let left = 0;
  let depth = 0;
  const stack = [];
  let x = 0;
  for (const start of starts) {
    stack.push([start, x, 0]);
    x += Math.max(0, weight(start)) * scale;
  }
  const { from, list } = model.children;
  while (stack.length) {
    const [path, at, level] = stack.pop();
    const wide = Math.max(0, weight(path)) * scale;
    if (wide < least) {
      left++;
      continue;
    }
    boxes.push({ path, x: at, width: wide, level });
    depth = Math.max(depth, level + 1);
    let child = at;
    for (let index = from[path]; index < from[path + 1]; index++) {
      stack.push([list[index], child, level + 1]);
      child += Math.max(0, weight(list[index])) * scale;
    }
  }
  return { boxes, depth, left };
}

/** Where a path lies in the whole, of which its ancestors and those beside them take the rest: two fractions. */
export function windowOf(model, path, weight) {
  const { from, list } = model.children;
  const sum = (paths) => paths.reduce((all, one) => all + Math.max(0, weight(one)), 0);
  const whole = sum(model.roots);
  let before = 0;
  for (let at = path, above; at !== NONE; at = above) {
    above = model.tree.parent[at];
    const beside = above === NONE ? model.roots : Array.from(list.subarray(from[above], from[above + 1]));
    before += sum(beside.slice(0, beside.indexOf(at)));
  }
  return whole > 0 ? [before / whole, (before + Math.max(0, weight(path))) / whole] : [0, 1];
}
