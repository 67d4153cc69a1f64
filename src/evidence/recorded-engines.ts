import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLimit } from '../engine/limit.js';
import { type EnginePool, openEnginePool } from '../workers/engine-pool.js';
import { type KeptVersions, NotKeptError, writeModel, writeRules } from './kept-versions.js';
import type { ReplayCall, ScreenAsThen } from './replay.js';

/** Workers by versions of before, opened when asked for. */
export interface RecordedEngines {
  readonly screen: ScreenAsThen;
  close(): Promise<void>;
}

/** Time that a worker waits for the next replay by the same versions, milliseconds. */
const IDLE_MS = 30_000;

/** One worker at a time, in a process of its own; calls for it wait for their turn. */
export function recordedEngines(versions: KeptVersions): RecordedEngines {
  let open: { readonly key: string; readonly pool: EnginePool; readonly folder: string } | undefined;
  const inTurn = createLimit([undefined]);
  let idle: NodeJS.Timeout | undefined;

  async function shut(): Promise<void> {
    const last = open;
    open = undefined;
    if (last === undefined) return;
    await last.pool.close();
    rmSync(last.folder, { recursive: true, force: true });
  }

  async function poolFor(call: ReplayCall): Promise<EnginePool> {
    const { rulesVersion, mlVersion, thresholds, limits, mode } = call;
    const key = JSON.stringify({ rulesVersion, mlVersion, thresholds, limits, mode });
    if (open?.key === key) return open.pool;
    await shut();
    const folder = mkdtempSync(join(tmpdir(), 'portcullis-replay-'));
    try {
      open = { key, folder, pool: await openRecorded(versions, call, folder) };
      return open.pool;
    } catch (error) {
      rmSync(folder, { recursive: true, force: true });
      throw error;
    }
  }

  return {
    screen: (call) =>
      inTurn(async () => {
        clearTimeout(idle);
        const pool = await poolFor(call);
        try {
          const { input, mode, channel, task } = call;
          return await pool.score(input, { mode, channel, task });
        } finally {
          idle = setTimeout(() => void inTurn(shut), IDLE_MS).unref();
        }
      }),
    close() {
      clearTimeout(idle);
      return inTurn(shut);
    },
  };
}

async function openRecorded(versions: KeptVersions, call: ReplayCall, folder: string): Promise<EnginePool> {
  const { rulesVersion, mlVersion, thresholds, limits, mode } = call;
  const packs = await writeRules(versions, rulesVersion, folder);
  if (mlVersion !== null) await writeModel(versions, mlVersion, folder);
  const pool = await openEnginePool({
    ...packs,
    workers: 1,
    model: mlVersion === null ? false : folder,
    mode,
    thresholds: mlVersion === null ? { rules: thresholds.rules } : thresholds,
    limits: limits ?? undefined,
  });
  const { rules_version, ml_version } = pool.info;
  if (rules_version === rulesVersion && (mlVersion === null || ml_version === mlVersion)) return pool;
  await pool.close();
  throw new NotKeptError(`what is kept of ${rulesVersion} makes another version here`);
}
