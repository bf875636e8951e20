// A table of any length: only the rows that are seen stand in the document.

import { element } from "./dom.js";
import { exactCount } from "./numbers.js";

const TABLE_ROW = 26;
/** The head, and the bar that scrolls to the side. */
const TABLE_RIM = TABLE_ROW + 20;

/**
 * `columns`: [{ key, title, align }]; `onPaper` is the number of rows that are printed; `rows()` gives the number of rows, `fill(index)` a row as
 * { cells, level, expanded, selected, title }; `act(index, what)` is told of "select", "open", "close", "enter".
 */
export class VirtualTable {
  constructor(parent, { label, columns, height, onPaper, rows, fill, act, sort }) {
    Object.assign(this, { columns, most: height, onPaper, rows, fill, act, sort });
    this.focus = 0;
    this.head = element("div", { class: "vhead", role: "row", "aria-rowindex": 1 });
    this.body = element("div", { class: "vbody" });
    const listeners = { onscroll: () => this.draw(), onkeydown: (event) => this.key(event) };
    this.root = element("div", { class: "vtable", role: "treegrid", "aria-label": label, tabindex: 0, ...listeners }, this.head, this.body);
    this.more = element("p", { class: "muted", hidden: true });
    parent.append(this.root, this.more);
    window.addEventListener("resize", () => this.draw());
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
    this.setColumns(columns);
  }

  setColumns(columns, sorted = "", isDescending = true) {
    this.columns = columns;
    const button = (key) => this.head.querySelector(`.c-${key} button`);
    const focused = columns.find(({ key }) => button(key) && button(key) === document.activeElement);
    this.head.replaceChildren(
      ...columns.map(({ key, title, align, hint }) => {
        const direction = key === sorted ? (isDescending ? "descending" : "ascending") : "none";
        const text = title + (key === sorted ? (isDescending ? " ▾" : " ▴") : "");
        const content = this.sort ? element("button", { type: "button", onclick: () => this.sort(key) }, text) : text;
        return element("div", { role: "columnheader", class: `c-${key} ${align || ""}`, "aria-sort": direction, title: hint }, content);
      }),
    );
    // The head that was pressed stays the one that has the focus.
    if (focused) button(focused.key)?.focus({ preventScroll: true });
  }

  /** Draws anew; where a row was focused, the cursor stays on the same thing if `focus` says where that is now. The table grows with its
   * rows, and does not shrink again: what stands below it would move away. */
  refresh(focus = this.focus) {
    this.count = this.rows();
    this.focus = Math.max(0, Math.min(focus, this.count - 1));
    this.body.style.height = `${this.count * TABLE_ROW}px`;
    this.height = Math.max(this.height || 0, Math.min(this.most, this.count * TABLE_ROW + TABLE_RIM));
    this.root.style.height = `${this.height}px`;
    this.root.setAttribute("aria-rowcount", this.count + 1);
    this.draw();
  }

  /** Paper does not scroll: the first rows from the one that is seen stand there. */
  print(isOnPaper) {
    this.isOnPaper = isOnPaper;
    this.draw();
    const left = (this.count || 0) - this.onPaper;
    this.more.hidden = !isOnPaper || left <= 0 || this.root.hidden;
    this.more.textContent = `${this.onPaper} of ${exactCount(this.count)} rows; the others are on the page.`;
  }

  draw() {
    const top = Math.max(0, Math.floor(this.root.scrollTop / TABLE_ROW) - 5);
    const first = this.isOnPaper ? Math.max(0, Math.min(top, this.count - this.onPaper)) : top;
    const seen = Math.ceil(this.root.clientHeight / TABLE_ROW) + 8;
    const last = Math.min(this.count, first + (this.isOnPaper ? this.onPaper : Math.min(seen, 80)));
    const made = [];
    for (let index = first; index < last; index++) made.push(this.row(index));
    this.body.replaceChildren(...made);
    this.root.setAttribute("aria-activedescendant", this.count ? `${this.id()}-${this.focus}` : "");
  }

  id() {
    if (!this.name) this.name = `t${Math.random().toString(36).slice(2, 8)}`;
    return this.name;
  }

  row(index) {
    const { cells, level, expanded, selected, title, name, place: position, among } = this.fill(index);
    const row = element("div", {
      role: "row",
      id: `${this.id()}-${index}`,
      class: `vrow${selected ? " selected" : ""}${index === this.focus ? " focus" : ""}`,
      "aria-rowindex": index + 2,
      "aria-level": level === undefined ? null : level + 1,
      "aria-posinset": position ?? null,
      "aria-setsize": among ?? null,
      "aria-expanded": expanded === undefined ? null : String(expanded),
      "aria-selected": String(Boolean(selected)),
      title,
      onclick: (event) => this.click(index, event),
      ondblclick: () => this.act(index, "enter"),
    });
    row.style.top = `${index * TABLE_ROW}px`;
    this.columns.forEach(({ key, align }, place) => {
      // Read aloud, a name that has no room is whole behind what is seen of it, by which it is called, too.
      const spoken = place === 0 && name !== undefined && cells[0].textContent !== name ? `${cells[0].textContent}, ${name}` : null;
      const cell = element("div", { role: "gridcell", class: `c-${key} ${align || ""}`, "aria-label": spoken });
      if (place === 0 && level !== undefined) {
        cell.style.setProperty("--level", Math.min(level, 20));
        cell.append(element("span", { class: "twist", "aria-hidden": "true" }, expanded === undefined ? "" : expanded ? "▾" : "▸"));
      }
      const content = cells[place];
      cell.append(content === undefined ? "" : content);
      row.append(cell);
    });
    return row;
  }

  click(index, event) {
    this.focus = index;
    if (event.target.classList.contains("twist")) this.act(index, this.fill(index).expanded ? "close" : "open");
    else this.act(index, "select");
    this.root.focus({ preventScroll: true });
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(".vhead")) return;
    const page = Math.max(1, Math.floor(this.root.clientHeight / TABLE_ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    const acts = { ArrowRight: "open", ArrowLeft: "close", Enter: "enter", " ": "select" };
    if (event.key in moves) this.moveTo(this.focus + moves[event.key]);
    else if (event.key in acts) this.act(this.focus, acts[event.key]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  moveTo(index) {
    this.focus = Math.max(0, Math.min(this.count - 1, index));
    this.reveal();
    if (this.count) this.act(this.focus, "select");
    this.show(this.focus);
  }

  /** Brings a row into sight, without choosing it. */
  show(index) {
    this.focus = index;
    this.reveal();
    this.draw();
    this.body.querySelector(".focus")?.scrollIntoView({ block: "nearest" });
  }

  reveal() {
    const top = this.focus * TABLE_ROW;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    else if (top + 2 * TABLE_ROW > this.root.scrollTop + this.root.clientHeight) this.root.scrollTop = top + 2 * TABLE_ROW - this.root.clientHeight;
  }
}
