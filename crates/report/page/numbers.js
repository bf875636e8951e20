// Figures as text, as the terminal has them: as many digits as the interval allows, one unit for each column.
// Times are in nanoseconds. The rounding is that of the Particle Data Group; src/number.rs says it in words.

// Narrow, and no line ends at it.
const THIN = "\u202f";
const UNITS = [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]];

function unitOf(nanoseconds) {
  const size = Math.abs(nanoseconds);
  if (size === 0 || size >= 0.9995e9) return UNITS[3];
  if (size >= 0.9995e6) return UNITS[2];
  return size >= 0.9995e3 ? UNITS[1] : UNITS[0];
}

/** Digits after the point that a half-width deserves; negative: zeros before it. */
function decimalsFor(half) {
  const exponent = Math.floor(Math.log10(half));
  return Math.round(half / 10 ** (exponent - 2)) < 354.5 ? 1 - exponent : -exponent;
}

/** A number with this many decimals, thin spaces from 10 000 on, and a true minus, never before a zero. */
function fixed(value, decimals) {
  const step = decimals < 0 ? 10 ** -decimals : 1;
  const text = decimals < 0 ? (Math.round(Math.abs(value) / step) * step).toFixed(0) : Math.abs(value).toFixed(Math.min(decimals, 15));
  const [whole, fraction] = text.split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, THIN) : whole;
  const sign = value < 0 && /[1-9]/.test(text) ? "−" : "";
  return sign + grouped + (fraction === undefined ? "" : "." + fraction);
}

/** The unit and the last digit of a column whose largest value this is. */
export function columnFor(largest, digits = 4) {
  const [name, scale] = unitOf(largest);
  const size = Math.max(1, Math.abs(largest) / scale);
  const last = Math.min(digits - 1, Math.max(0, digits - 1 - Math.floor(Math.log10(size))));
  return { name, scale, last };
}

/** The same where most values are far smaller: with as many places as a middle one needs for three digits, down to the nanosecond. */
export function columnDownTo(middle, largest) {
  const column = columnFor(largest);
  const wanted = middle > 0 ? 2 - Math.floor(Math.log10(middle / column.scale)) : 0;
  const last = Math.max(column.last, Math.min(wanted, Math.round(Math.log10(column.scale))));
  return { ...column, last, most: last };
}

/** A time without a known interval: three digits. */
export function plain(nanoseconds, column) {
  const value = nanoseconds / column.scale;
  if (value === 0) return "0";
  const wanted = 2 - Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, Math.min(wanted, Math.min(column.last, column.most ?? 3)));
  if (Math.abs(value) < 0.5 * 10 ** -decimals) return "<" + fixed(10 ** -decimals, decimals);
  return fixed(value, decimals);
}

/** A figure that is not to be trusted. */
function about(text) {
  return text.startsWith("<") ? text : `≈${THIN}${text}`;
}

/** For who goes on to calculate with it. */
export function seconds(nanoseconds) {
  return nanoseconds / 1e9;
}

/** A figure with its interval, without the unit. */
export function figure(nanoseconds, below, above, isMarked, column) {
  const value = nanoseconds / column.scale;
  const [less, more] = [below / column.scale, above / column.scale];
  const half = Math.max(less, more);
  if (isMarked) {
    const text = plain(nanoseconds, column);
    return `${about(text)} †`;
  }
  if (!(half > 0) || !Number.isFinite(half)) return plain(nanoseconds, column);
  const [deserved, least] = [decimalsFor(half), 0.5 * 10 ** -column.last];
  if (half < least || (Math.abs(value) < least && deserved > column.last)) {
    if (value === 0) return "0";
    if (Math.abs(value) < least) return "<" + fixed(10 ** -column.last, column.last);
    return fixed(value, column.last);
  }
  const wanted = Math.min(deserved, column.last);
  if (Math.abs(more - less) <= 0.1 * half || fixed(more, wanted) === fixed(less, wanted)) return `${fixed(value, wanted)} ± ${fixed(half, wanted)}`;
  return `${fixed(value, wanted)} (${fixed(value - less, wanted)} … ${fixed(value + more, wanted)})`;
}

/** A time that stands alone, with its unit. */
export function alone(nanoseconds, below = 0, above = 0, isMarked = false) {
  const largest = Math.max(Math.abs(nanoseconds), below, above);
  const half = Math.max(below, above);
  const [few, many] = [4, 6].map((digits) => columnFor(largest, digits));
  const isSeen = (column) => half / column.scale >= 0.5 * 10 ** -column.last;
  const column = isSeen(few) || !isSeen(many) ? few : many;
  if (isMarked) return `${about(plain(nanoseconds, column))}${THIN}${column.name} †`;
  return figure(nanoseconds, below, above, isMarked, column) + THIN + column.name;
}

/** A fraction as a share. */
export function share(fraction) {
  const percent = 100 * fraction;
  if (percent === 0) return "0" + THIN + "%";
  if (percent > 0 && percent < 0.05) return "<0.1" + THIN + "%";
  return fixed(percent, 1) + THIN + "%";
}

/** By how much something is more than another: as a change with its sign, from ten times on as a factor. */
export function excess(fraction) {
  if (fraction >= 9.995) return exactCount(Math.round(1 + fraction)) + THIN + "×";
  const text = fixed(100 * fraction, Math.abs(fraction) < 0.9995 ? 1 : 0);
  return (fraction > 0 && /[1-9]/.test(text) ? "+" : "") + text + THIN + "%";
}

/** A count in few digits. */
export function count(number) {
  if (number < 1e4) return fixed(number, 0);
  const [scale, prefix] = number < 999500 ? [1e3, "k"] : number < 999500e3 ? [1e6, "M"] : number < 999500e6 ? [1e9, "G"] : [1e12, "T"];
  const value = number / scale;
  return fixed(value, Math.max(0, Math.min(2, 2 - Math.floor(Math.log10(value))))) + THIN + prefix;
}

/** A count with all its digits. */
export function exactCount(number) {
  return fixed(number, 0);
}

/** A number with its word. */
export function plural(number, one, several) {
  return `${exactCount(number)} ${number === 1 ? one : several}`;
}

/** Bytes in powers of 1024. */
export function byteSize(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  const value = bytes / 1024 ** power;
  return fixed(value, power === 0 || value >= 100 ? 0 : value >= 10 ? 1 : 2) + THIN + units[power];
}
