import type { ReadableStream } from 'node:stream/web';

/** Reads a stream so that it can be cancelled while a piece is awaited. */
export function readStream<T>(stream: ReadableStream<T>): AsyncIterator<T> {
  const reader = stream.getReader();
  return {
    next: () => reader.read() as Promise<IteratorResult<T>>,
    return: () => reader.cancel().then(() => ({ done: true, value: undefined })),
  };
}
