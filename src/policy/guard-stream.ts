/** Screens the result of a tool that comes in pieces. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { readBytes, utf16Mark } from './encoded-text.js';
import type { Guard } from './guard.js';
import { PortcullisBlocked, passes, type ScreenCall } from './policy.js';
import { readStream } from './read-stream.js';
import { screenedError } from './screened-error.js';

/**
 * Characters (bytes, for bytes) that are held back. Two windows are screened together, then the first is passed on and the
 * second stays for the next two: an attack of up to one window is always seen whole, wherever the pieces or the windows end,
 * and before any of it is passed on. Twice what the model reads in one window (512 tokens, about 2,000 characters), so that the
 * text around an attack is seen with it.
 */
export const STREAM_WINDOW = 4_096;
/** Pieces that are held back with empty texts among them; further empty texts are dropped. */
const MAX_HELD = 10_000;

/**
 * A stream with its pieces screened as they come; undefined for any other value. Of an async iterable, a `ReadableStream`, a
 * Node stream or a `Response`, the same. A blocked window ends it: text by the note, anything else by `PortcullisBlocked`.
 * Texts and objects stay the pieces that they were; bytes may be divided elsewhere. A response without a body stays as it is.
 */
export function guardStream(guard: Pick<Guard, 'screen'>, result: unknown, call: ScreenCall): unknown {
  if (result instanceof Response) return result.body === null ? result : guardResponse(guard, result, call);
  if (typeof result !== 'object' || result === null || !(Symbol.asyncIterator in result)) return undefined;
  const pieces = guardPieces(guard, result as AsyncIterable<unknown>, call);
  if (result instanceof ReadableStream) return ReadableStream.from(pieces);
  if (!(result instanceof Readable)) return pieces;
  // Whoever reads the guarded stream gets the error; the source has no reader yet, and would end the process.
  result.on('error', () => {});
  return Readable.from(pieces, { objectMode: result.readableObjectMode || result.readableEncoding !== null });
}

function guardResponse(guard: Pick<Guard, 'screen'>, response: Response, call: ScreenCall): Response {
  const { status, statusText, url } = response;
  const headers = new Headers(response.headers);
  const mediaType = headers.get('content-type') ?? undefined;
  const pieces = guardPieces(guard, response.body as ReadableStream<Uint8Array>, call, mediaType);
  // The length of what was sent, and how it was packed, don't describe what is passed on.
  for (const name of ['content-length', 'content-encoding']) headers.delete(name);
  const guarded = new Response(ReadableStream.from(pieces) as never, {
    status,
    statusText,
    headers,
  });
  return Object.defineProperty(guarded, 'url', { value: url });
}

/** The pieces of a source, screened in the run that is open now, wherever they are read. Ending them ends the source, read or not. */
function guardPieces(
  guard: Pick<Guard, 'screen'>,
  source: AsyncIterable<unknown>,
  call: ScreenCall,
  mediaType?: string,
): AsyncGenerator<unknown> {
  const iterator = source instanceof ReadableStream ? readStream(source) : source[Symbol.asyncIterator]();
  let closing: Promise<unknown> | undefined;
  const close = async (): Promise<void> => {
    closing ??= Promise.resolve(source instanceof Readable ? source.destroy() : iterator.return?.());
    await closing;
  };
  const next = (): Promise<IteratorResult<unknown>> => iterator.next();
  const end = async (): Promise<IteratorResult<unknown>> => {
    await close();
    return { done: true, value: undefined };
  };
  const closable = { [Symbol.asyncIterator]: () => ({ next, return: end }) };
  const pieces = screenPieces(guard, closable, call, mediaType);
  const { next: goOn, return: stop, throw: fail } = pieces;
  const within = AsyncLocalStorage.snapshot();
  // A generator that was never started ends without running its body.
  return Object.assign(pieces, {
    next: () => within(() => goOn.call(pieces)),
    return: (value: unknown) => within(() => close().then(() => stop.call(pieces, value))),
    throw: (error: unknown) => within(() => close().then(() => fail.call(pieces, error))),
  });
}

async function* screenPieces(
  guard: Pick<Guard, 'screen'>,
  source: AsyncIterable<unknown>,
  call: ScreenCall,
  mediaType?: string,
): AsyncGenerator<unknown> {
  let held: unknown[] = [];
  let isBlocked = false;
  const utf16 = followUtf16(mediaType);

  /** The part of what is held that may be passed on, but for the last `kept` characters. */
  async function* pass(kept: number): AsyncGenerator<unknown> {
    const whole = joined(held);
    const { given, again } = utf16.read(whole);
    const decision = await guard.screen('tool_result', [...given, ...again], call);
    if (!passes(decision)) {
      if (decision.action !== 'replace' || !held.every((piece) => typeof piece === 'string'))
        throw new PortcullisBlocked(decision.enforcement);
      isBlocked = true;
      yield decision.enforcement.note;
      return;
    }
    const shown = whole.map((piece, at) => {
      const value = decision.value[at];
      if (value === given[at]) return piece;
      return isBytes(piece) ? (value as { readonly data: unknown }).data : value;
    });
    const isSame = shown.every((piece, at) => piece === whole[at]);
    const [passed, rest] = divide(isSame ? held : shown, kept);
    utf16.passed(passed);
    held = [...rest];
    yield* passed;
  }

  // Of the pieces that came since the last screening.
  let unread = -STREAM_WINDOW;
  try {
    for await (const piece of source) {
      if (isBytes(piece) && piece.byteLength === 0) continue;
      // Empty text says nothing, and would be held for as long as nothing else comes.
      if (piece === '' && held.length === 0) yield piece;
      // Without end, they would fill the memory.
      else if (piece === '' && held.length >= MAX_HELD) continue;
      else held.push(piece);
      unread += sizeOf([piece]);
      if (unread < STREAM_WINDOW) continue;
      unread = 0;
      yield* pass(STREAM_WINDOW);
      // The note stands for all that would follow.
      if (isBlocked) return;
    }
  } catch (error) {
    throw await screenedError(guard, error, call);
  }
  if (held.length > 0) yield* pass(0);
}

/**
 * Reads the bytes of a stream in the UTF-16 that it began with, since later windows may not tell. What could be text of another
 * encoding too is read both ways.
 */
function followUtf16(mediaType: string | undefined) {
  let mark: Uint8Array | undefined;
  let offset = 0;
  return {
    /** The pieces as they are screened, and those that are read a second time. */
    read(pieces: readonly unknown[]): { readonly given: readonly unknown[]; readonly again: readonly unknown[] } {
      const again: unknown[] = [];
      const isFirst = mark === undefined;
      mark ??= utf16Mark(pieces.find(isBytes) ?? new Uint8Array(), mediaType);
      let at = offset;
      const given = pieces.map((piece) => {
        if (!isBytes(piece)) return piece;
        const plain = { mediaType, data: piece };
        if (mark === undefined || isFirst) return plain;
        const marked = { mediaType, data: Buffer.concat([mark, piece.subarray(at % 2)]) };
        at += piece.byteLength;
        if (readBytes(piece, mediaType).unreadable !== undefined) return marked;
        again.push(marked);
        return plain;
      });
      return { given, again };
    },
    passed(pieces: readonly unknown[]): void {
      if (mark !== undefined) offset += sizeOf(pieces.filter(isBytes));
    },
  };
}

function isBytes(piece: unknown): piece is Uint8Array {
  return piece instanceof Uint8Array;
}

/** Pieces as they are screened: texts in a row, and bytes, go on with each other. */
function joined(pieces: readonly unknown[]): readonly unknown[] {
  const runs: unknown[][] = [];
  for (const piece of pieces) {
    const last = runs.at(-1);
    const goesOn =
      (typeof piece === 'string' && typeof last?.[0] === 'string') || (isBytes(piece) && isBytes(last?.[0]));
    if (goesOn) last?.push(piece);
    else runs.push([piece]);
  }
  return runs.map((run) => {
    if (run.length === 1) return run[0];
    return typeof run[0] === 'string' ? run.join('') : Buffer.concat(run as Uint8Array[]);
  });
}

/** Pieces in two parts; the second has at least so many characters, or as few more as a piece allows. Only bytes are divided. */
function divide(pieces: readonly unknown[], kept: number): readonly [readonly unknown[], readonly unknown[]] {
  let left = sizeOf(pieces);
  for (const [at, piece] of pieces.entries()) {
    const size = sizeOf([piece]);
    const cut = left - kept;
    left -= size;
    if (left >= kept) continue;
    const [before, after] = [pieces.slice(0, at), pieces.slice(at + 1)];
    if (!isBytes(piece) || cut <= 0) return [before, [piece, ...after]];
    return [
      [...before, piece.subarray(0, cut)],
      [piece.subarray(cut), ...after],
    ];
  }
  return [pieces, []];
}

function sizeOf(pieces: readonly unknown[]): number {
  return pieces.reduce<number>((size, piece) => {
    if (typeof piece === 'string') return size + piece.length;
    return size + (isBytes(piece) ? piece.byteLength : lengthOf(piece));
  }, 0);
}

/** The length of a value as JSON; a window for what can't be written, so that it is screened at once. */
function lengthOf(value: unknown): number {
  try {
    return JSON.stringify(value)?.length ?? 1;
  } catch {
    return STREAM_WINDOW;
  }
}
