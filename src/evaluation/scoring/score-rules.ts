import { availableParallelism } from 'node:os';
import { setImmediate } from 'node:timers/promises';
import { openPack } from '../../adapters/packs/open-pack.js';
import { childProgram, startWorker } from '../../adapters/worker.js';
import { PortcullisError } from '../../engine/errors.js';
import { createLimit } from '../../engine/limit.js';
import type { CompiledPack } from '../../engine/rules/types.js';
import { type RulesReading, type ScanRequest, scanText, type TextToScan, type ToRulesChild } from './scan-text.js';

export interface RulesJob extends Partial<ScanRequest> {
  readonly packs?: readonly string[] | undefined;
  readonly overlays?: readonly string[] | undefined;
  /** The pack that those name, where it is open already: opening one takes part of a second. */
  readonly pack?: CompiledPack | undefined;
  /** Child processes at most; default the machine's cores. 1: in this process. */
  readonly processes?: number | undefined;
  readonly onProgress?: ((done: number) => void) | undefined;
}

/** Texts a child gets at once: some tens of milliseconds of work. */
const PIECE_SIZE = 100;
/** Fewer texts than this are done sooner than a child has started. */
const WORTH_CHILD = 600;
/** A piece takes little: the heap is for the pack. */
const HEAP_MB = 1_024;

/** Screens texts by the rules alone, on all cores where there are many; readings in the order of the texts. @throws PackError */
export async function scoreRules(rows: readonly TextToScan[], job: RulesJob): Promise<readonly RulesReading[]> {
  const { withHits = false, paranoia } = job;
  const request: ScanRequest = { withHits, paranoia };
  const texts = rows.map(({ text, channel }): TextToScan => ({ text, channel }));
  const wanted = Math.min(job.processes ?? availableParallelism(), Math.ceil(texts.length / WORTH_CHILD));
  const file = childProgram('tuning-rules-child');
  if (wanted > 1 && file !== undefined) return inChildren(texts, request, job, file, wanted);
  const pack = job.pack ?? openPack({ packs: job.packs, overlays: job.overlays });
  const readings: RulesReading[] = [];
  for (const text of texts) {
    readings.push(scanText(pack, text, request));
    if (readings.length % PIECE_SIZE !== 0) continue;
    job.onProgress?.(readings.length);
    await setImmediate();
  }
  job.onProgress?.(readings.length);
  return readings;
}

async function inChildren(
  texts: readonly TextToScan[],
  request: ScanRequest,
  job: RulesJob,
  file: string,
  processes: number,
): Promise<readonly RulesReading[]> {
  // This process reports mistakes in a pack, with their place.
  if (job.pack === undefined) openPack({ packs: job.packs, overlays: job.overlays });
  const { packs, overlays } = job;
  const toError = (): Error => new TuningError('A scoring process ended before it finished.');
  const workers = Array.from({ length: processes }, () => startWorker({ file, heapMb: HEAP_MB, toError }));
  const limit = createLimit(workers);
  const pieces = Array.from({ length: Math.ceil(texts.length / PIECE_SIZE) }, (_, at) =>
    texts.slice(at * PIECE_SIZE, (at + 1) * PIECE_SIZE),
  );
  let done = 0;
  const screen = (piece: readonly TextToScan[]): Promise<readonly RulesReading[]> =>
    limit(async (worker) => {
      const asked = { packs, overlays, texts: piece, request } satisfies ToRulesChild;
      const readings = await worker.ask<readonly RulesReading[]>(asked);
      done += readings.length;
      job.onProgress?.(done);
      return readings;
    });
  try {
    return (await Promise.all(pieces.map(screen))).flat();
  } finally {
    for (const worker of workers) worker.kill();
  }
}

/** A file, a field, an option or the labels do not allow what was asked. Never quotes a screened text. */
export class TuningError extends PortcullisError {
  override readonly name = 'TuningError';
  readonly code = 'TUNING_INVALID';
}
