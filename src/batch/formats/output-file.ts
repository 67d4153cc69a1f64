import { existsSync } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../../engine/errors.js';
import type { BatchCounts } from '../batch-counts.js';
import { BatchError } from './file-format.js';
import type { InputPlace } from './input-files.js';

/** The output that a batch has durably written. */
export interface ResumePoint {
  /** Digest of inputs, settings and versions; only the same job can be resumed. */
  readonly job: string;
  /** Length of the part of the output that counts; what lies behind it is cut off. */
  readonly bytes: number;
  readonly counts: BatchCounts;
  /** The rows before it are in the output. */
  readonly place: InputPlace;
  /** Every row is there: only the renaming is left. */
  readonly complete: boolean;
}

/** The output while it grows: `OUT.partial`, with its resume point in `OUT.resume.json`. */
export interface OutputFile {
  /** The point that this run resumes from; undefined for a new run. */
  readonly from: ResumePoint | undefined;
  append(bytes: Uint8Array): Promise<void>;
  /** Makes all that was appended durable, and the point with it. */
  checkpoint(reached: Pick<ResumePoint, 'counts' | 'place' | 'complete'>): Promise<void>;
  /** Puts the finished file in its place; `convert` makes it out of the partial one. */
  finish(convert?: (partial: string, made: string) => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens an output. A kill at any moment leaves a partial file that `resume` continues: rows after the last
 * checkpoint are cut off and scored again, so each stands in the output once.
 *
 * @throws BatchError `BATCH_RESUME` where the point belongs to another job; `BATCH_OUTPUT`
 */
export async function openOutputFile(out: string, job: string, resume: boolean): Promise<OutputFile> {
  const partial = `${out}.partial`;
  const pointFile = `${out}.resume.json`;
  const point = resume ? await readPoint(pointFile) : undefined;
  if (point !== undefined && point.job !== job) {
    const why = 'the inputs, settings, rules or model have changed since it started';
    throw new BatchError('BATCH_RESUME', `${out} can't be resumed: ${why}. Start again without --resume.`);
  }
  let file: FileHandle | undefined;
  if (point?.complete !== true) {
    await rm(point === undefined ? pointFile : `${pointFile}.new`, { force: true });
    file = await open(partial, point === undefined ? 'w' : 'r+').catch((cause: NodeJS.ErrnoException) => {
      throw new BatchError('BATCH_OUTPUT', `Can't write ${partial}: ${cause.code ?? 'unknown reason'}.`, { cause });
    });
    if (point !== undefined) {
      if ((await file.stat()).size < point.bytes)
        throw new BatchError('BATCH_RESUME', `${partial} is shorter than it was. Start again without --resume.`);
      await file.truncate(point.bytes);
    }
  }
  let bytes = point?.bytes ?? 0;
  return {
    from: point,
    async append(chunk) {
      let at = 0;
      while (at < chunk.length) {
        const { bytesWritten } = await (file as FileHandle).write(chunk, at, chunk.length - at, bytes + at);
        at += bytesWritten;
      }
      bytes += chunk.length;
    },
    async checkpoint(reached) {
      await file?.datasync();
      await writeDurably(pointFile, JSON.stringify({ job, bytes, ...reached } satisfies ResumePoint));
    },
    async finish(convert) {
      await file?.close();
      file = undefined;
      // After a kill between the renaming and the removal of the point nothing is left to rename.
      const there = existsSync(partial);
      if (there && convert !== undefined) {
        await convert(partial, `${out}.made`);
        await syncPath(`${out}.made`);
        await rename(`${out}.made`, out);
        await rm(partial);
      } else if (there) await rename(partial, out);
      await syncPath(dirname(out));
      await rm(pointFile, { force: true });
    },
    async close() {
      await file?.close();
    },
  };
}

async function readPoint(path: string): Promise<ResumePoint | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as ResumePoint;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw new BatchError('BATCH_RESUME', `${path} can't be read. Start again without --resume.`);
  }
}

async function writeDurably(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  await writeFile(fresh, text, { flush: true });
  await rename(fresh, path);
}

async function syncPath(path: string): Promise<void> {
  const opened = await open(path);
  await opened.sync().catch(() => undefined);
  await opened.close();
}
