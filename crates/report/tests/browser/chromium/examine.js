// What an examiner of accessibility asks of a page. `examine.wrong()` and `examine.faint()` list what is not as it should be.
globalThis.examine = (() => {
  const all = (what) => [...document.querySelectorAll(what)];
  const name = (at) => (at.getAttribute("aria-label") || at.getAttribute("aria-labelledby") || at.title || at.textContent || "").trim();
  const shown = (at) => at.outerHTML.slice(0, 90);

  /** Names, labels, one h1, levels in order, ids that are there once, headings of tables, a language. */
  function wrong() {
    const found = [];
    const each = (what, is_wrong, says) => all(what).filter(is_wrong).forEach((at) => found.push(`${says}: ${shown(at)}`));
    each("button, a[href], [role=button], [role=grid], [role=treegrid], canvas", (at) => !name(at), "no name");
    each("button", (at) => name(at) === "show", "does not say what it shows");
    each("canvas", (at) => at.getAttribute("role") !== "img" || !at.getAttribute("aria-label"), "a canvas that is no picture");
    each("input, select", (at) => !at.labels.length && !at.getAttribute("aria-label"), "no label");
    each("svg", (at) => !at.getAttribute("aria-hidden") && !(at.getAttribute("role") === "img" && name(at)), "neither decoration nor picture");
    each("table", (at) => !at.querySelector("th"), "no headings");
    const ids = all("[id]").map((at) => at.id);
    ids.filter((id, place) => ids.indexOf(id) !== place).forEach((id) => found.push(`twice: ${id}`));
    for (const key of ["aria-labelledby", "aria-controls", "aria-describedby"]) {
      for (const id of all(`[${key}]`).flatMap((at) => at.getAttribute(key).split(" "))) {
        if (!document.getElementById(id)) found.push(`${key} of nothing: ${id}`);
      }
    }
    let last = 0;
    for (const at of all("h1, h2, h3, h4")) {
      const level = Number(at.tagName[1]);
      if (level > last + 1) found.push(`a level is left out: ${shown(at)}`);
      last = level;
    }
    if (all("h1").length !== 1) found.push(`${all("h1").length} h1`);
    if (!document.documentElement.lang || !document.title || !document.querySelector("main")) found.push("no language, title or main");
    return found.join("\n");
  }

  /** The relative luminance of a colour (WCAG 2). */
  function light(colour) {
    const part = (text) => {
      const value = Number(text) / 255;
      return value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    };
    const [red, green, blue] = colour.match(/[\d.]+/g).slice(0, 3).map(part);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }

  function ground(at) {
    for (; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (/^rgb\(/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  }

  /** Texts that stand out from their ground by less than 4.5 to one. */
  function faint() {
    const found = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const at = walker.currentNode.parentElement;
      if (!walker.currentNode.data.trim() || !at.checkVisibility() || at.closest("script, style, svg, .unseen")) continue;
      const [more, less] = [light(getComputedStyle(at).color), light(ground(at))].sort((one, other) => other - one);
      if ((more + 0.05) / (less + 0.05) < 4.5) found.add(`${at.className}: ${at.textContent.slice(0, 30)}`);
    }
    return [...found].slice(0, 9).join("\n");
  }

  /** The section in which the focus is, and what has it where that cannot be seen. */
  function focus() {
    const at = document.activeElement;
    const section = at.closest("section, header, nav, aside, footer");
    const style = getComputedStyle(at);
    const is_seen = style.outlineStyle !== "none" || style.boxShadow !== "none";
    return { section: section ? section.id || section.tagName : at.tagName, unseen: is_seen ? "" : shown(at) };
  }

  /** Headings of tables that are cut. */
  function cut() {
    return all(".vhead > div, .vhead button").filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent).join();
  }

  /** Cells of a table of rows that do not show all they hold, or reach beyond the table. */
  function short(table) {
    const edge = document.querySelector(table).getBoundingClientRect().right + 1;
    const cells = all(`${table} .vrow > div, ${table} .vhead > div, ${table} .cut`);
    const is_short = (cell) => cell.scrollWidth > cell.clientWidth + 1 || cell.scrollHeight > cell.clientHeight + 1;
    const is_cut = (cell) => (getComputedStyle(cell).overflowX !== "visible" && is_short(cell)) || cell.getBoundingClientRect().right > edge;
    return cells.filter(is_cut).map((cell) => `${cell.className}: ${cell.textContent}`).slice(0, 5).join("; ");
  }

  /** What is shown and reaches beyond an element's right edge. */
  function beyond(edge, what) {
    const right = document.querySelector(edge).getBoundingClientRect().right + 1;
    const found = all(what).filter((at) => at.checkVisibility() && at.getBoundingClientRect().right > right && !at.closest(".unseen"));
    return found.map(shown).slice(0, 5).join("; ");
  }

  return { wrong, faint, focus, cut, short, beyond };
})();
