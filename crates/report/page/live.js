// The page of a run that goes on: a frame with the page, and one behind it that is made ready and takes its place.

const NONE = 0xffffffff;
/** How often the run is read unless the server asks for longer pauses, and how long the reader must have let the page alone, milliseconds. */
const INTERVAL = 2000;
const QUIET = 1500;
/** Beyond so many call paths it is not remembered which were open. */
const MOST_PATHS = 20000;

const byId = (id) => document.getElementById(id);
const token = new URLSearchParams(location.search).get("token") ?? "";
let shown = null;
let readings = 0;
let readAt = 0;
let touchedAt = 0;
let isPaused = false;
let isOver = false;
let pause = INTERVAL;

const address = (path) => `${path}?token=${encodeURIComponent(token)}&reading=${readings}`;
const later = (time) => new Promise((resolve) => setTimeout(resolve, time));

async function read(path) {
  const reply = await fetch(address(path), { cache: "no-store" });
  if (!reply.ok) throw new Error((await reply.text()).trim());
  return reply.json();
}

/** A frame with the page as it is now, when its views stand. */
async function freshFrame() {
  readings++;
  const frame = document.createElement("iframe");
  frame.title = "The run";
  frame.className = "waiting";
  frame.src = address("page") + (shown ? "" : location.hash);
  document.querySelector("main").append(frame);
  for (let wait = 0; wait < 600; wait++) {
    await later(50);
    if (frame.contentDocument?.documentElement?.dataset.ready) return frame;
  }
  frame.remove();
  throw new Error("the page does not come");
}

/** What tells a call path from others, from one reading to the next. */
const chain = (model, path) => model.ancestry(path).map((at) => model.pathName(at)).join("\n");

/** What stands in the bars of the views is chosen and turned as it was. */
function carryBars(from, to) {
  const name = (one) => `${one.closest("[id]")?.id} ${one.tagName === "LABEL" ? one.firstChild.textContent : one.previousElementSibling?.tagName}`;
  const inBars = (frame, what) => new Map([...frame.contentDocument.querySelectorAll(`.bar > ${what}, .bar > span > ${what}`)].map((one) => [name(one), one]));
  const [labels, buttons] = [inBars(from, "label"), inBars(from, "button")];
  for (const [key, label] of inBars(to, "label")) {
    const [was, is] = [labels.get(key)?.querySelector("select"), label.querySelector("select")];
    if (!was || !is || was.value === is.value || ![...is.options].some(({ value }) => value === was.value)) continue;
    is.value = was.value;
    is.dispatchEvent(new Event("change"));
  }
  for (const [key, button] of inBars(to, "button")) if (buttons.has(key) && buttons.get(key).textContent !== button.textContent) button.click();
}

/** What was selected, looked for, chosen and opened in one page is so in the next. */
function carry(from, to) {
  carryBars(from, to);
  const [was, is] = [from.contentWindow.tare, to.contentWindow.tare];
  if (was && is) {
    const { region, path, values, query, ranks } = was.model.state;
    to.contentDocument.getElementById("search").value = query;
    is.model.change({ values, query });
    if (ranks.length) is.model.selectRanks(was.model.rankList());
    const same = (index) => is.model.name(index) === was.model.name(region) && is.model.place(index) === was.model.place(region);
    const again = region === NONE ? -1 : [...is.model.strings.names.keys()].find(same) ?? -1;
    if (again >= 0) is.model.selectRegion(again);
    if (is.model.tree.rows <= MOST_PATHS) {
      const known = new Map();
      for (let path = 0; path < is.model.tree.rows; path++) known.set(chain(is.model, path), path);
      const same = (path) => (path === NONE || path === null ? undefined : known.get(chain(was.model, path)));
      if (same(path) !== undefined) is.model.selectPath(same(path));
      if (same(was.icicle.root) !== undefined) is.icicle.zoom(same(was.icicle.root));
      if (was.table.shape === "tree") is.table.open = new Set([...was.table.open].map(same).filter((path) => path !== undefined));
    }
    if (was.matrix?.cells && is.matrix?.matrix.rows === was.matrix.matrix.rows) is.matrix.stand(was.matrix.cell, was.matrix.cursor);
    [is.table.sorted, is.table.isDescending] = [was.table.sorted, was.table.isDescending];
    is.table.arrange();
    is.table.follow();
  }
  const boxes = (frame) => [...frame.contentDocument.querySelectorAll(".vtable")];
  const before = boxes(from);
  boxes(to).forEach((box, index) => (box.scrollTop = before[index]?.scrollTop ?? 0));
  to.contentWindow.scrollTo(from.contentWindow.scrollX, from.contentWindow.scrollY);
  carryFocus(from, to);
}

/** The focus goes to what stands for the same thing, where the reader is in the page: called the same in the same part, else in the same place. */
function carryFocus(from, to) {
  if (document.activeElement !== from) return;
  const at = from.contentDocument.activeElement;
  to.contentWindow.focus();
  const part = at?.closest("section, aside, header");
  if (!part) return;
  const others = (part) => (part ? [part, ...part.querySelectorAll("*")].filter(({ tagName }) => tagName === at.tagName) : []);
  const name = (one) => `${one.id} ${one.getAttribute("aria-label") ?? (one.textContent || one.value)}`;
  const [was, is] = [others(part), others(to.contentDocument.querySelector(part.id ? `#${part.id}` : part.tagName))];
  const same = is.filter((one) => name(one) === name(at));
  const place = was.filter((one) => name(one) === name(at)).indexOf(at);
  (same[place] ?? is[was.indexOf(at)])?.focus({ preventScroll: true });
}

async function refresh() {
  const fresh = await freshFrame();
  for (const kind of ["pointerdown", "keydown", "wheel"]) fresh.contentWindow.addEventListener(kind, () => (touchedAt = Date.now()), { passive: true });
  fresh.className = "shown";
  if (shown) {
    carry(shown, fresh);
    history.replaceState(null, "", shown.contentWindow.location.hash || location.href);
    shown.remove();
  } else if (document.activeElement === document.body) fresh.contentWindow.focus();
  shown = fresh;
  document.title = fresh.contentDocument.title;
  readAt = Date.now();
  document.documentElement.dataset.readings = readings;
}

function tell(text) {
  byId("age").textContent = text;
}

/** Keys beside the frame are those of the page in it, but those by which a button is reached and pressed. */
function passOn(event) {
  if (!shown || ["Tab", "Enter", " ", "Shift"].includes(event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  shown.contentWindow.focus();
  const page = shown.contentDocument;
  (page.activeElement ?? page.body).dispatchEvent(new shown.contentWindow.KeyboardEvent("keydown", { key: event.key, shiftKey: event.shiftKey, bubbles: true, cancelable: true }));
}

async function follow() {
  document.addEventListener("keydown", passOn);
  byId("pause").addEventListener("click", () => {
    isPaused = !isPaused;
    byId("pause").textContent = isPaused ? "Go on" : "Pause";
  });
  while (!isOver) {
    const isTouched = Date.now() - touchedAt < QUIET;
    if (!shown || (!isPaused && !isTouched && Date.now() - readAt >= pause)) {
      try {
        const { over, again_ms: again } = await read("state");
        await refresh();
        pause = again ?? INTERVAL;
        isOver = over;
        tell(over ? "The run has ended." : "Live: the run goes on.");
      } catch (error) {
        tell(`Not read: ${error.message}`);
        await later(INTERVAL);
      }
    }
    await later(200);
  }
  byId("pause").hidden = true;
  document.documentElement.dataset.over = "yes";
}

follow();
