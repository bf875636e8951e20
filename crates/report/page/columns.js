// Reads the columns of the file: base64, deflated, bytes of equal weight together (src/html/columns.rs).

/** Packed bytes that are unpacked at once. */
const PORTION = 1 << 14;
const TYPES = { u8: Uint8Array, u32: Uint32Array, f32: Float32Array, f64: Float64Array };

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** Gives the memory of a buffer back at once: a reader who scrolls a large page would wait long for it to be collected. */
function free({ buffer }) {
  buffer.transfer?.(0);
}

/** Unpacks bytes in portions, none of which stays: `take(portion, at)` copies what it needs. */
async function unpack(base64, take) {
  const packed = bytesOf(base64);
  const { writable, readable } = new DecompressionStream("deflate");
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  const write = async () => {
    for (let at = 0; at < packed.length; at += PORTION) {
      await writer.ready;
      await writer.write(packed.subarray(at, at + PORTION));
    }
    await writer.close();
  };
  const read = async () => {
    for (let at = 0, next; !(next = await reader.read()).done; at += next.value.length, free(next.value)) take(next.value, at);
  };
  await Promise.all([write(), read()]);
  free(packed);
}

async function column([type, base64], rows) {
  const values = new TYPES[type](rows);
  const bytes = new Uint8Array(values.buffer);
  const width = values.BYTES_PER_ELEMENT;
  await unpack(base64, (portion, at) => {
    let [plane, row] = [Math.floor(at / rows), at % rows];
    for (const byte of portion) {
      bytes[row * width + plane] = byte;
      if (++row === rows) [plane, row] = [plane + 1, 0];
    }
  });
  return values;
}

/** A table as an object of typed arrays, with its number of rows: one column after the other, and none of them twice. */
export async function decoded(table) {
  const made = { rows: table.rows };
  for (const [name, packed] of Object.entries(table.columns)) {
    delete table.columns[name];
    made[name] = await column(packed, table.rows);
  }
  return made;
}

/** Several tables, one after the other: what is read at once is in memory at once. */
export async function inTurn(tables) {
  const made = [];
  for (const table of tables) made.push(await decoded(table));
  return made;
}

/** Texts that were packed as JSON. */
export async function texts(base64) {
  const decoder = new TextDecoder();
  let text = "";
  await unpack(base64, (portion) => (text += decoder.decode(portion, { stream: true })));
  return JSON.parse(text + decoder.decode());
}
