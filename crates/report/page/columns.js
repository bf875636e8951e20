// Reads the columns of the file: base64, deflated, bytes of equal weight together (src/html/columns.rs).

const TYPES = { u8: Uint8Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The bytes that were packed. */
export async function unpacked(base64) {
  const stream = new Blob([bytesOf(base64)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

async function column([type, base64], rows) {
  const planes = await unpacked(base64);
  const values = new TYPES[type](rows);
  const bytes = new Uint8Array(values.buffer);
  const width = values.BYTES_PER_ELEMENT;
  for (let plane = 0; plane < width; plane++) {
    const from = plane * rows;
    for (let row = 0; row < rows; row++) bytes[row * width + plane] = planes[from + row];
  }
  return values;
}

/** A table as an object of typed arrays, with its number of rows. */
export async function decoded(table) {
  const names = Object.keys(table.columns);
  const columns = await Promise.all(names.map((name) => column(table.columns[name], table.rows)));
  return Object.assign({ rows: table.rows }, Object.fromEntries(names.map((name, index) => [name, columns[index]])));
}

/** Texts that were packed as JSON. */
export async function texts(base64) {
  return JSON.parse(new TextDecoder().decode(await unpacked(base64)));
}
