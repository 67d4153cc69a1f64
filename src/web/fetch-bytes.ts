/** Where bytes come from: an address, or the bytes themselves. */
export type BytesSource = string | URL | Uint8Array | ArrayBuffer;

/** The bytes of a source. @throws TypeError when the address can't be fetched */
export async function fetchBytes(source: BytesSource): Promise<Uint8Array<ArrayBuffer>> {
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  if (source instanceof Uint8Array) return new Uint8Array(source);
  const response = await fetch(source);
  if (!response.ok) throw new TypeError(`${source} can't be fetched: status ${response.status}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The bytes unpacked where they are gzip: some servers unpack `.gz` files on the way, others don't. */
export async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
