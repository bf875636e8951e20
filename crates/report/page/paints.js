// What boxes of call paths are painted with: by kind, with three shades for functions of different images; or from dark to bright.

import { NONE } from "./model.js";
import { colour, element, sequential } from "./dom.js";

/** Shades of functions; the images that take most time have one each. */
const SHADES = 3;
const KINDS = [["program", "program"], ["mpi", "MPI"], ["threads", "waits for threads"], ["loop", "loops"], ["iteration", "iterations"], ["callsite", "call sites"], ["folded", "small call paths"]];

export class Paints {
  constructor(model) {
    this.model = model;
    const times = new Map();
    for (let region = 0; region < model.regions.rows; region++) {
      const image = model.regions.image[region];
      if (this.kindOf(region) === "function") times.set(image, (times.get(image) || 0) + Math.max(0, model.regions.value[region]));
    }
    this.images = [...times.keys()].sort((one, other) => times.get(other) - times.get(one));
    this.shadeOf = new Map(this.images.map((image, place) => [image, Math.min(place, SHADES - 1)]));
    this.seen = new Set();
    for (let path = 0; path < model.tree.rows; path++) this.seen.add(this.kindOf(model.tree.region[path]));
  }

  /** Regions that a program names itself are functions here. */
  kindOf(region) {
    const kind = this.model.kind(region).replace(" ", "");
    return KINDS.some(([known]) => known === kind) ? kind : "function";
  }

  /** Gives for each path what it is filled with and what is written on it. */
  kinds() {
    const [ink, light] = [colour("text"), colour("kind-ink")];
    const fills = new Map(KINDS.map(([kind]) => [kind, colour(`kind-${kind}`)]));
    const shades = Array.from({ length: SHADES }, (_, shade) => colour(`kind-function-${shade}`));
    const { tree, regions } = this.model;
    return (path) => {
      const region = tree.region[path];
      const kind = this.kindOf(region);
      const fill = kind === "function" ? shades[region === NONE ? 0 : this.shadeOf.get(regions.image[region])] : fills.get(kind);
      return { fill, ink: kind === "mpi" || kind === "threads" ? light : ink };
    };
  }

  /** The same of call paths that are too small to be told apart. */
  small() {
    return { fill: colour("kind-folded"), ink: colour("text") };
  }

  /** The same of a part between 0 and 1. */
  part(part) {
    const [red, green, blue] = sequential(part);
    return { fill: `rgb(${red},${green},${blue})`, ink: 0.3 * red + 0.59 * green + 0.11 * blue > 120 ? "#1B1F24" : "#FFFFFF" };
  }

  /** What the fills mean: [fill, words]; whether there are small call paths beyond those that the page has folded. */
  legend(hasSmall) {
    const base = (image) => this.model.strings.images[image].split("/").pop() || "unknown";
    const [own, others] = [this.images.slice(0, SHADES - 1), this.images.slice(SHADES - 1)];
    const last = others.length > 1 ? [`${base(others[0])} and ${others.length - 1} more`] : others.map(base);
    const functions = [...own.map(base), ...last].map((text, shade) => [`var(--kind-function-${shade})`, text]);
    const seen = KINDS.filter(([kind]) => this.seen.has(kind) || (kind === "folded" && hasSmall));
    return [...functions, ...seen.map(([kind, text]) => [`var(--kind-${kind})`, text])];
  }

  swatch(fill, text) {
    const patch = element("span", { class: "swatch", "aria-hidden": "true" });
    patch.style.background = fill;
    return element("span", {}, patch, text);
  }
}
