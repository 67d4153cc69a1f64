import { useRef, useState } from 'preact/hooks';
import { CallError } from '../call-api.js';
import { bytes, counted, localTimeShort } from '../format.js';
import { Button, Notice } from './basics.js';

/** Exports what is filtered, and says how far it is. */
export function ExportButtons({ query }: { query: string }) {
  const [progress, setProgress] = useState<ExportProgress>();
  const [said, setSaid] = useState<{ readonly kind: 'good' | 'error' | 'note'; readonly words: string }>();
  const stop = useRef<AbortController | undefined>(undefined);
  const start = async (format: 'jsonl' | 'csv'): Promise<void> => {
    const abort = new AbortController();
    stop.current = abort;
    setSaid(undefined);
    setProgress({ records: undefined, bytes: 0, reached: undefined });
    try {
      const { file, records } = await readExport(format, query, abort.signal, setProgress);
      save(file, `evidence.${format}`);
      setSaid({ kind: 'good', words: `Exported ${words(records)}${bytes(file.size)}.` });
    } catch (error) {
      if (abort.signal.aborted) setSaid({ kind: 'note', words: 'The export was stopped; nothing was saved.' });
      else setSaid({ kind: 'error', words: error instanceof Error ? error.message : 'The export failed.' });
    } finally {
      setProgress(undefined);
    }
  };
  return (
    <>
      {(['jsonl', 'csv'] as const).map((format) => (
        <button key={format} type="button" disabled={progress !== undefined} onClick={() => void start(format)}>
          Export {format.toUpperCase()}
        </button>
      ))}
      {progress === undefined ? null : (
        <div class="working" role="status">
          <progress aria-label="Export" />
          <span>
            {words(progress.records)}
            {bytes(progress.bytes)}
            {progress.reached === undefined ? '' : `, down to ${localTimeShort(progress.reached)}`}
          </span>
          <Button onClick={() => stop.current?.abort()}>Stop</Button>
        </div>
      )}
      {said === undefined ? null : <Notice kind={said.kind}>{said.words}</Notice>}
    </>
  );
}

function words(records: number | undefined): string {
  return records === undefined ? '' : `${counted(records, 'record', 'records')}, `;
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

interface ExportProgress {
  /** Undefined for CSV, whose cells may hold line ends. */
  readonly records: number | undefined;
  readonly bytes: number;
  /** The time of the newest record of the latest piece, milliseconds since 1970. */
  readonly reached: number | undefined;
}

const NEWLINE = 10;
/** Bytes after which the pieces become a Blob, which the browser keeps outside the page's memory. */
const LOT = 8_000_000;

/** Reads an export to its end. `onProgress` is called a few times a second. @throws CallError */
async function readExport(
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
    for (const byte of value) if (byte === NEWLINE) lines += 1;
    if (waiting > LOT) {
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
