import type { Service } from '../contract/service.js';

/** What rotations under load showed. */
export interface Rotations {
  readonly calls: number;
  /** 401 for a key that was still within its grace, or newer. */
  readonly falseRefusals: number;
  /** 200 for a key a second or more after its grace had ended. */
  readonly lateAcceptances: number;
}

const GRACE_SECONDS = 2;

/** Rotates one account's key again and again while callers use the newest and the one before it. */
export async function rotateUnderLoad(service: Service, rotations: number): Promise<Rotations> {
  const { key, keyId, accountId } = await service.account({ plan: 'scale' });
  const body = { input: 'The meeting was moved to Thursday at ten.' };
  let newest = { secret: key, id: keyId };
  /** Keys in their grace, with the moment it ends. */
  const old: { readonly secret: string; readonly ends: number }[] = [];
  let [calls, falseRefusals, lateAcceptances, stop] = [0, 0, 0, false];

  const caller = async (pick: () => { readonly secret: string; readonly ends: number } | undefined): Promise<void> => {
    while (!stop) {
      const chosen = pick();
      if (chosen === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 10));
        continue;
      }
      const sent = performance.now();
      const { status } = await service.call({ body, key: chosen.secret });
      calls += 1;
      // A call that was still under way when the grace ended may go either way.
      if (status === 401 && performance.now() < chosen.ends) falseRefusals += 1;
      if (status === 200 && sent > chosen.ends + 1_000) lateAcceptances += 1;
    }
  };
  const useNewest = () => caller(() => ({ secret: newest.secret, ends: Number.POSITIVE_INFINITY }));
  const useOlder = () => caller(() => old[Math.floor(Math.random() * old.length)]);
  const callers = [useNewest(), useNewest(), useOlder(), useOlder()];
  for (let rotation = 0; rotation < rotations; rotation++) {
    // The grace is counted from a moment after this one.
    const ends = performance.now() + GRACE_SECONDS * 1_000;
    const fresh = await service.store.keys.rotate(accountId, newest.id, GRACE_SECONDS);
    old.push({ secret: newest.secret, ends });
    newest = fresh;
    if (old.length > 40) old.shift();
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await new Promise((resolve) => setTimeout(resolve, GRACE_SECONDS * 1_000 + 1_500));
  stop = true;
  await Promise.all(callers);
  return { calls, falseRefusals, lateAcceptances };
}
