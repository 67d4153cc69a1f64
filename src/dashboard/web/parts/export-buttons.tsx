import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { bytes, counted, localTimeShort } from '../format.js';
import { type ExportProgress, readExport } from '../read-export.js';
import { Notice } from './basics.js';

/** Exports what is filtered, and says how far it is. */
export function ExportButtons({ query }: { query: string }): JSX.Element {
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
          <button type="button" onClick={() => stop.current?.abort()}>
            Stop
          </button>
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
