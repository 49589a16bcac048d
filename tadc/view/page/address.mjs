// A formula in the address of the page: `#f=` and its text, deflated, in base64url.

/** The longest formula that an address is read for, in bytes: a short address can stand for much. */
const LONGEST = 100_000;

/** The part of an address behind `#` that stands for a text. */
export async function hashOf(text) {
  const packed = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return "#f=" + letters.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** The text that an address stands for; null where it has none, an error where it is damaged. */
export async function textOf(hash) {
  if (!hash.startsWith("#f=")) return null;
  const letters = atob(hash.slice(3).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const reader = unpacked.getReader();
  const parts = [];
  let size = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    size += part.value.length;
    if (size > LONGEST) throw new RangeError("the formula in the address is too long");
  }
  return new Blob(parts).text();
}
