// Small helpers around the document. Text only ever becomes text.

/** An element with attributes, listeners (`onclick`, …) and children. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export function byId(id) {
  return document.getElementById(id);
}

/** `void std::sort(int) const` as `std::sort`; names that end otherwise, and what compilers put behind one, are left alone. */
function bareName(name) {
  const whole = name.replace(/\)\.[a-z0-9._]+$/, ")");
  const list = whole.replace(/ const$/, "");
  for (let at = list.length - 1, depth = 0; list.endsWith(")") && at >= 0; at--) {
    depth += list[at] === ")" ? 1 : list[at] === "(" ? -1 : 0;
    const head = list.slice(0, at);
    if (depth === 0) return !head || head.endsWith("operator") ? whole : head.replace(/^(?!\S*operator)\S+ (?=[\p{L}_]\S*$)/u, "");
  }
  return whole;
}

/** `B::C::d` and `C::d` of `A::B::C::d`. None of what is said about a name, such as `loop 2 of A::b`. */
function innerScopes(name) {
  const parts = name.includes(" ") ? [] : name.split("::");
  return parts.slice(1, -1).map((_, outer) => parts.slice(outer + 1).join("::"));
}

/** A name that fits: its template arguments folded, then parameters and result left out, then outer scopes, then its middle. */
export function shortName(name, room) {
  if (name.length <= room) return name;
  // What stands in arguments may have arguments: a mark in their place, from the inside out.
  let marked = name;
  for (let before = ""; before !== marked; ) {
    before = marked;
    marked = marked.replace(/<[^<>]+>/g, "\ue000");
  }
  const folded = marked.replaceAll("\ue000", "<…>");
  if (folded.length <= room) return folded;
  const bare = bareName(folded);
  if (bare.length <= room) return bare;
  const scopes = innerScopes(bare);
  const fitting = scopes.find((inner) => inner.length < room);
  if (fitting) return `…${fitting}`;
  const last = scopes.pop() ?? bare;
  return last.slice(0, Math.ceil((room - 1) / 2)) + "…" + last.slice(-Math.floor((room - 1) / 2));
}

/** A name in a cell of any width, in so many characters at most: one text, which is found and copied; whole where the pointer rests. */
export function cutName(name, room, attributes = {}) {
  return element("span", { ...attributes, class: `cut ${attributes.class || ""}`.trim(), title: name }, shortName(name, room));
}

/** A name that is broken between its words where it does not fit on a line. */
export function breakable(name) {
  return name.split(/(?<=::|[<,_])/).flatMap((word, place) => (place ? [element("wbr"), word] : [word]));
}

/** A place in the source, of which the file may be cut and the line never is. */
export function placeOf(place) {
  const colon = place.lastIndexOf(":");
  const file = colon < 0 ? place : place.slice(0, colon);
  const parts = new DocumentFragment();
  parts.append(element("span", { class: "cut", title: place }, file), element("span", { class: "line" }, place.slice(file.length)));
  return parts;
}

const RULER = new OffscreenCanvas(1, 1).getContext("2d");

/** Pixels that a text takes in the font of an element. */
export function textWidth(text, at) {
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(at);
  RULER.font = `${fontWeight} ${fontSize} ${fontFamily}`;
  return RULER.measureText(text).width;
}

/** Says something to those who listen rather than look. */
export function say(text) {
  byId("status").textContent = text;
}

/** A field with a place beside it for what is wrong with what stands in it, told by `complain`. */
export function field(input) {
  const complaint = element("span", { class: "wrong", id: `${input.id}-wrong`, hidden: true });
  input.setAttribute("aria-describedby", complaint.id);
  return element("span", { class: "field" }, input, complaint);
}

/** Says beside a field what is wrong; nothing where all is right. `isCorrected` where what was wrong no longer stands in it. */
export function complain(input, text, isCorrected = false) {
  const complaint = byId(`${input.id}-wrong`);
  input.setAttribute("aria-invalid", String(Boolean(text) && !isCorrected));
  complaint.textContent = text;
  complaint.hidden = !text;
}

/** A choice among a few: [value, label] pairs. */
export function choice(label, options, chosen, onpick) {
  const select = element("select", { onchange: () => onpick(select.value) });
  for (const [value, text] of options) select.append(element("option", { value, selected: value === chosen }, text));
  return element("label", {}, `${label} `, select);
}

/** A table of figures: texts of the head, rows made of elements, a caption of texts or elements. */
export function figures(caption, head, rows) {
  const headings = head.map((text) => element("th", { scope: "col" }, text));
  return element("table", { class: "figures" }, element("caption", {}, ...caption), element("thead", {}, element("tr", {}, ...headings)), element("tbody", {}, ...rows));
}

/** Rows for a spreadsheet (RFC 4180), the names of their columns first. */
function csvOf(rows) {
  const cell = (value) => (/[",\r\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : String(value));
  return rows.map((row) => row.map(cell).join(",") + "\r\n").join("");
}

/**
 * A view with a canvas, and buttons that put a table in its place and save it, called by the title: gives it `frame`, `list` and `asTable`.
 * What is saved are the view's `records()`: rows of texts and of numbers in full precision, the names of their columns first.
 */
export function pictureOrTable(view, title) {
  view.frame = element("div", { class: "frame" }, view.canvas);
  view.list = element("div", { class: "list", tabindex: 0, role: "region", "aria-label": `${title} as a table`, hidden: true });
  view.turner = element("button", { type: "button", onclick: () => turn(view) }, "as table");
  view.csv = element("button", { type: "button", title: "saves the table for a spreadsheet", hidden: true, onclick: () => save(`${view.asTable.closest("[id]").id}.csv`, csvOf(view.records())) }, "CSV");
  view.asTable = element("span", {}, view.turner, " ", view.csv);
}

/** Puts the table in the place of the picture, or the other way round. */
export function turn(view) {
  const hadFocus = view.frame.parentElement.contains(document.activeElement) && !view.asTable.contains(document.activeElement);
  view.list.hidden = !view.list.hidden;
  view.frame.hidden = !view.list.hidden;
  view.turner.textContent = view.list.hidden ? "as table" : "as picture";
  view.csv.hidden = view.list.hidden;
  if (view.list.hidden) view.draw();
  else view.drawTable();
  if (hadFocus) (view.list.hidden ? view.canvas : view.list).focus({ preventScroll: true });
}

/** A colour of the page's style. */
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** Pixels across the frame of a canvas; while a table stands in its place, those that it would have. */
export function roomIn(frame) {
  return Math.max(200, Math.floor(frame.clientWidth || frame.parentElement.clientWidth));
}

/** A canvas that is as sharp as the screen, filled by `paint(context, width, height)`. */
export function prepare(canvas, height) {
  const width = roomIn(canvas.parentElement);
  const scale = Math.min(2, window.devicePixelRatio || 1);
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(Math.min(height, 8000) * scale);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${Math.min(height, 8000)}px`;
  const context = canvas.getContext("2d");
  context.setTransform(scale, 0, 0, scale, 0, 0);
  return { context, width, height: Math.min(height, 8000) };
}

/** Of so many places in a row, every how many is numbered where there is room for `most` numbers. */
export function numberEvery(places, most) {
  return [1, 2, 5, 10, 20, 50, 100, 200, 500].find((step) => places / step <= most) || places;
}

const CIVIDIS = [[0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115], [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56]];

/** A colour between dark and bright for 0 to 1, in steps that everybody tells apart. */
export function sequential(part) {
  const at = Math.min(0.9999, Math.max(0, part)) * (CIVIDIS.length - 1);
  const low = Math.floor(at);
  return CIVIDIS[low].map((value, channel) => Math.round(value + (CIVIDIS[low + 1][channel] - value) * (at - low)));
}

/** Whether the page is dark now; paper never is. */
function isDark() {
  if (matchMedia("print").matches) return false;
  return document.documentElement.style.colorScheme ? document.documentElement.style.colorScheme === "dark" : matchMedia(DARK).matches;
}

/** Gives a colour from blue through the ground to orange for −1 to 1, as the page looks now. */
export function diverging() {
  const ground = isDark() ? [38, 45, 53] : [247, 247, 247];
  return (part) => {
    const end = part < 0 ? [0, 84, 159] : [200, 80, 0];
    const weight = Math.min(1, Math.abs(part));
    return ground.map((value, channel) => Math.round(value + (end[channel] - value) * weight));
  };
}

/** Copies a text and says so; where the page may not use the clipboard, by what is selected. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = element("textarea", { class: "unseen", "aria-hidden": "true" });
    const focus = document.activeElement;
    document.body.append(box);
    box.value = text;
    box.select();
    document.execCommand("copy");
    box.remove();
    focus?.focus({ preventScroll: true });
  }
  say(`Copied: ${text}`);
  byId("status").classList.add("shown");
  clearTimeout(copyText.shown);
  copyText.shown = setTimeout(() => byId("status").classList.remove("shown"), 4000);
}

const DARK = "screen and (prefers-color-scheme: dark)";
const THEMES = ["auto", "light", "dark"];

/** What was chosen in an earlier page; a browser may forbid to keep anything. */
export function kept(key) {
  try {
    return localStorage.getItem(`tare-${key}`) ?? "";
  } catch {
    return "";
  }
}

export function keep(key, value) {
  try {
    localStorage.setItem(`tare-${key}`, value);
  } catch {
    // The page works without.
  }
}

/** A button that goes from what the system wants to light, dark, and back; `redraw` is told. */
export function themeSwitch(redraw) {
  const rule = [...document.styleSheets[0].cssRules].find((rule) => rule.media?.mediaText === DARK);
  const button = element("button", { type: "button", onclick: () => set(THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]) });
  let theme;
  const look = (theme) => {
    rule.media.mediaText = { auto: DARK, light: "not all", dark: "screen" }[theme];
    document.documentElement.style.colorScheme = theme === "auto" ? "" : theme;
  };
  const set = (chosen) => {
    theme = THEMES.includes(chosen) ? chosen : "auto";
    look(theme);
    button.textContent = { auto: "◐", light: "○", dark: "●" }[theme];
    button.setAttribute("aria-label", `Light or dark: ${theme === "auto" ? "as the system has it" : theme}`);
    button.title = button.getAttribute("aria-label");
    keep("theme", theme);
    redraw();
  };
  set(kept("theme"));
  // Paper asks for light while its pages are laid out: what is drawn anew then has the sizes of other pages.
  matchMedia(DARK).addEventListener("change", () => matchMedia("print").matches || redraw());
  // What is drawn for paper is drawn before paper is there.
  for (const [event, looks] of [["beforeprint", () => "light"], ["afterprint", () => theme]]) {
    window.addEventListener(event, () => {
      look(looks());
      redraw();
    });
  }
  return button;
}

/** Saves a text as a file, without any network. */
export function save(name, text) {
  const link = element("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
