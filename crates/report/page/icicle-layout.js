// Where the boxes of an icicle stand: pure, so that a drawing can be tested as a list.

/** Boxes from `root` (or from all roots) within `width`; what is narrower than half a pixel is left out. */
export function icicle(model, root, width, least = 0.5) {
  const boxes = [];
  const starts = root === null ? model.roots : [root];
  const whole = starts.reduce((sum, start) => sum + Math.max(0, model.weight(start)), 0);
  if (!(whole > 0)) return { boxes, depth: 0, left: 0 };
  const scale = width / whole;
  let left = 0;
  let depth = 0;
  const stack = [];
  let x = 0;
  for (const start of starts) {
    stack.push([start, x, 0]);
    x += Math.max(0, model.weight(start)) * scale;
  }
  const { from, list } = model.children;
  while (stack.length) {
    const [path, at, level] = stack.pop();
    const wide = Math.max(0, model.weight(path)) * scale;
    if (wide < least) {
      left++;
      continue;
    }
    boxes.push({ path, x: at, width: wide, level });
    depth = Math.max(depth, level + 1);
    let child = at;
    for (let index = from[path]; index < from[path + 1]; index++) {
      stack.push([list[index], child, level + 1]);
      child += Math.max(0, model.weight(list[index])) * scale;
    }
  }
  return { boxes, depth, left };
}
