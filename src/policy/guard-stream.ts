/** Screens the result of a tool that comes in pieces. */
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import type { Guard, ScreenCall } from './guard.js';
import { PortcullisBlocked, passes } from './policy.js';
import { screenedError } from './screened-error.js';

/**
 * Characters (bytes, for bytes) that are held back. Two windows are screened together, then the first is passed on and the
 * second stays for the next two: an attack of up to one window is always seen whole, wherever the pieces or the windows end,
 * and before any of it is passed on. Twice what the model reads in one window (512 tokens, about 2,000 characters), so that the
 * text around an attack is seen with it.
 */
export const STREAM_WINDOW = 4_096;

/** Screening of a tool's result. */
export type ScreenResult = Pick<Guard, 'screen'>;

/**
 * A stream with its pieces screened as they come; undefined for any other value. Of an async iterable, a `ReadableStream`, a
 * Node stream or a `Response`, the same. A blocked window ends it: text by the note, anything else by `PortcullisBlocked`.
 */
export function guardStream(guard: ScreenResult, result: unknown, call: ScreenCall): unknown {
  if (result instanceof Response) return result.body === null ? undefined : guardResponse(guard, result, call);
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return undefined;
  const pieces = screenPieces(guard, result as AsyncIterable<unknown>, call);
  if (result instanceof ReadableStream) return ReadableStream.from(pieces);
  return result instanceof Readable ? Readable.from(pieces, { objectMode: result.readableObjectMode }) : pieces;
}

function guardResponse(guard: ScreenResult, response: Response, call: ScreenCall): Response {
  const { status, statusText, url } = response;
  const headers = new Headers(response.headers);
  const mediaType = headers.get('content-type') ?? undefined;
  const pieces = screenPieces(guard, response.body as ReadableStream<Uint8Array>, call, mediaType);
  // The length of what was sent, and how it was packed, say nothing of what is passed on.
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  const guarded = new Response(ReadableStream.from(pieces) as never, {
    status,
    statusText,
    headers,
  });
  return Object.defineProperty(guarded, 'url', { value: url });
}

async function* screenPieces(
  guard: ScreenResult,
  source: AsyncIterable<unknown>,
  call: ScreenCall,
  mediaType?: string,
): AsyncGenerator<unknown> {
  let held: readonly unknown[] = [];
  let isBlocked = false;

  /** What may be passed on of what is held, but for the last `kept` characters. */
  async function* pass(kept: number): AsyncGenerator<unknown> {
    const given = held.map((piece) => (piece instanceof Uint8Array ? { mediaType, data: piece } : piece));
    const decision = await guard.screen('tool_result', given, call);
    if (!passes(decision)) {
      if (decision.action !== 'replace' || !held.every((piece) => typeof piece === 'string'))
        throw new PortcullisBlocked(decision.enforcement);
      isBlocked = true;
      yield decision.enforcement.note;
      return;
    }
    const shown = decision.value.map((piece, at) =>
      held[at] instanceof Uint8Array ? (piece as { readonly data: unknown }).data : piece,
    );
    const [passed, rest] = divide(shown, kept);
    held = rest;
    yield* passed;
  }

  try {
    for await (const piece of source) {
      held = joined(held, piece);
      if (sizeOf(held) < 2 * STREAM_WINDOW) continue;
      yield* pass(STREAM_WINDOW);
      // The note stands for all that would follow.
      if (isBlocked) return;
    }
  } catch (error) {
    throw await screenedError(guard, error, call);
  }
  if (held.length > 0) yield* pass(0);
}

/** Pieces with one more: a text or bytes go on with the one before. */
function joined(pieces: readonly unknown[], piece: unknown): readonly unknown[] {
  const last = pieces.at(-1);
  if (typeof last === 'string' && typeof piece === 'string') return [...pieces.slice(0, -1), last + piece];
  if (last instanceof Uint8Array && piece instanceof Uint8Array)
    return [...pieces.slice(0, -1), Buffer.concat([last, piece])];
  return [...pieces, piece];
}

/** Pieces in two parts; the second has at least so many characters, or as few more as a piece allows. */
function divide(pieces: readonly unknown[], kept: number): readonly [readonly unknown[], readonly unknown[]] {
  if (kept === 0) return [pieces, []];
  const passed: unknown[] = [];
  let left = sizeOf(pieces);
  for (const [at, piece] of pieces.entries()) {
    const size = sizeOf([piece]);
    if (left - size >= kept) {
      passed.push(piece);
      left -= size;
      continue;
    }
    // An even number of bytes, for UTF-16; no half of a pair.
    const cut = (left - kept) & ~1;
    if (piece instanceof Uint8Array && cut > 0)
      return [
        [...passed, piece.subarray(0, cut)],
        [piece.subarray(cut), ...pieces.slice(at + 1)],
      ];
    if (typeof piece !== 'string' || cut <= 0) return [passed, pieces.slice(at)];
    const edge = /[\udc00-\udfff]/.test(piece.charAt(cut)) ? cut - 1 : cut;
    return [
      [...passed, piece.slice(0, edge)],
      [piece.slice(edge), ...pieces.slice(at + 1)],
    ];
  }
  return [passed, []];
}

function sizeOf(pieces: readonly unknown[]): number {
  return pieces.reduce<number>((size, piece) => {
    if (typeof piece === 'string') return size + piece.length;
    return size + (piece instanceof Uint8Array ? piece.byteLength : lengthOf(piece));
  }, 0);
}

/** The length of a value as JSON; a window for what can't be written, so that it is screened at once. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 0;
  } catch {
    return STREAM_WINDOW;
  }
}
