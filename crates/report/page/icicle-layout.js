// Where the boxes of an icicle stand: pure, so that a drawing can be tested as a list.

import { NONE } from "./model.js";

/**
 * Boxes from `root` (or from all roots) within `width`, as wide as their weight. What is narrower than half a pixel is counted as `left`;
 * neighbours among them that are wider together have a box in `together`, which says how many call paths it stands for.
 */
export function icicle(model, root, width, weight, least = 0.5) {
  const [boxes, together, stack] = [[], [], []];
  const starts = root === null ? model.roots : [root];
  const whole = starts.reduce((sum, start) => sum + Math.max(0, weight(start)), 0);
  if (!(whole > 0)) return { boxes, together, depth: 0, left: 0 };
  const scale = width / whole;
  let [left, depth] = [0, 0];
  /** Stands siblings side by side. */
  const stand = (paths, at, level) => {
    let narrow = { count: 0, weight: 0, x: at, width: 0, level };
    const close = (x) => {
      if (narrow.width >= least) {
        together.push(narrow);
        depth = Math.max(depth, level + 1);
      }
      narrow = { count: 0, weight: 0, x, width: 0, level };
    };
    for (const path of paths) {
      const own = Math.max(0, weight(path));
      const wide = own * scale;
      if (wide < least) {
        left++;
        // What has no width is between its neighbours, and in no box.
        if (own > 0) {
          narrow.count++;
          narrow.weight += own;
          narrow.width += wide;
        }
      } else {
        close(at + wide);
        stack.push({ path, x: at, width: wide, level });
      }
      at += wide;
    }
    close(at);
  };
  stand(starts, 0, 0);
  const { from, list } = model.children;
  while (stack.length) {
    const box = stack.pop();
    boxes.push(box);
    depth = Math.max(depth, box.level + 1);
    stand(list.subarray(from[box.path], from[box.path + 1]), box.x, box.level + 1);
  }
  return { boxes, together, depth, left };
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
