import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../../src/store/open-store.js';
import type { Store, StoreOptions } from '../../src/store/store.js';

/** `serve`'s flags for one scorer that decides by rules. */
export const RULES_FLAGS: readonly string[] = ['--mode', 'rules', '--workers', '1'];

/** A folder for one soak, with plans that no load uses up. */
export interface SoakPlace {
  readonly folder: string;
  readonly plans: string;
  remove(): void;
}

/** Makes the folder. */
export function soakPlace(monthlyCalls = 1_000_000_000): SoakPlace {
  const folder = mkdtempSync(join(tmpdir(), 'portcullis-soak-'));
  const plans = join(folder, 'plans.yaml');
  writeFileSync(plans, `plans:\n  trial: { monthly_calls: ${monthlyCalls}, trial_days: 14 }\noverage_pack_calls: 1\n`);
  return { folder, plans, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** Opens a store for a moment, beside a server or after it. */
export async function withSoakStore<T>(options: StoreOptions, work: (store: Store) => Promise<T>): Promise<T> {
  const store = await openStore(options);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** All of an account's records, by id. */
export async function recordIds(store: Store, accountId: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { id } of store.evidence.iterate(accountId, {})) ids.add(id);
  return ids;
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
