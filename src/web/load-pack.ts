import { readPrepared } from '../adapters/packs/prepared-file.js';
import { compilePack } from '../engine/rules/compile-pack.js';
import { PackError } from '../engine/rules/pack/pack-error.js';
import { stackPacks } from '../engine/rules/pack/stack-packs.js';
import type { CompiledPack, Rule } from '../engine/rules/types.js';

/**
 * Loads and compiles the pack that comes with the library, `portcullis/web/core-pack`: its address, or its bytes. The rules
 * have no examples; their version is that of the same pack in Node.
 *
 * @throws PackError `PACK010` when it isn't such a file; TypeError when it can't be fetched or is damaged
 */
export async function loadPack(source: BytesSource): Promise<CompiledPack> {
  // `gunzip` has looked at its checksum.
  const file = readPrepared(await gunzip(await fetchBytes(source)));
  if (!file) throw notAPack();
  const { head, patterns, digests } = file;
  const examples: Rule['examples'] = { positive: [], negative: [], todo_positive: [], todo_negative: [] };
  const rules = file.rules.map((rule) => Object.assign(rule, { examples }));
  const content = { head, words: {}, rules, isChecked: true, prepared: patterns, digest: digests.digest };
  const { pack } = stackPacks([content], { overlays: [], today: '', sha256: () => '' });
  return compilePack(pack);
}

function notAPack(): PackError {
  const message = "This isn't the pack of `portcullis/web`, or that of another version.";
  const advice = 'Load `portcullis/web/core-pack` of the same version of the library.';
  return new PackError([{ code: 'PACK010', message, advice, place: { in: 'pack', name: '', path: [] } }]);
}

/** Source of bytes: an address, or the bytes themselves. */
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
async function gunzip(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
