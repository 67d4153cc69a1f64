import { CallError } from './call-api.js';

/** How far an export is. */
export interface ExportProgress {
  /** Undefined for CSV, whose cells may hold line ends. */
  readonly records: number | undefined;
  readonly bytes: number;
  /** The time of the newest record of the latest piece, milliseconds since 1970. */
  readonly reached: number | undefined;
}

const newline = 10;
/** Pieces are handed to the browser's own store in lots of so many bytes, out of the page's memory. */
const lot = 8_000_000;

/** Reads an export to its end. `onProgress` is told a few times a second. @throws CallError */
export async function readExport(
  format: 'jsonl' | 'csv',
  query: string,
  signal: AbortSignal,
  onProgress: (progress: ExportProgress) => void,
): Promise<{ readonly file: Blob; readonly records: number | undefined }> {
  const wanted = new URLSearchParams(query);
  wanted.set('format', format);
  const response = await fetch(`/dashboard/api/evidence/export?${wanted}`, { credentials: 'same-origin', signal });
  if (!response.ok || response.body === null) throw new CallError(response.status, 'The export could not be started.');
  const type = response.headers.get('Content-Type') ?? '';
  const done: Blob[] = [];
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let [waiting, size, told] = [0, 0, 0];
  let lines = 0;
  const records = (): number | undefined => (format === 'jsonl' ? lines : undefined);
  let reached: number | undefined;
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  for (;;) {
    const { done: ended, value } = await reader.read();
    if (ended) break;
    pieces.push(value);
    waiting += value.length;
    size += value.length;
    for (const byte of value) if (byte === newline) lines += 1;
    if (waiting > lot) {
      done.push(new Blob(pieces));
      pieces = [];
      waiting = 0;
    }
    if (performance.now() - told < 200) continue;
    told = performance.now();
    reached = timeIn(decoder.decode(value.subarray(0, 4_000))) ?? reached;
    onProgress({ records: records(), bytes: size, reached });
  }
  return { file: new Blob([...done, ...pieces], { type }), records: records() };
}

/** The first time that stands in a piece as the server writes it. */
function timeIn(piece: string): number | undefined {
  const found = /ev_[0-9a-f]{24}(?:","time":"|,)([0-9TZ:.-]{20,30})/.exec(piece)?.[1];
  const time = found === undefined ? Number.NaN : Date.parse(found);
  return Number.isNaN(time) ? undefined : time;
}
