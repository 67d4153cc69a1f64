import { analyze, shownKey, startService } from '../../test/service/service-process.js';
import { pause, rulesFlags, soakPlace, withSoakStore } from './soak-place.js';
import { collectFaults, type SoakReport } from './soak-report.js';

const GRACE_S = 2;
/** How long a key may still pass after its end, milliseconds. */
const LATE_MS = 1_000;
const CHAINS = 5;

/** Rotates and revokes keys under load: no false 401 within the grace, none accepted a second after its end. */
export async function keysSoak(rotations: number): Promise<SoakReport> {
  const place = soakPlace();
  const faults = collectFaults();
  const service = await startService([...rulesFlags, '--data', place.folder, '--log-level', 'warn']);
  const steady = shownKey(service);
  let isOver = false;
  let background = 0;
  const seen = { 'new keys at once': 0, 'old keys in grace': 0, 'old keys after it': 0, 'revoked keys after 1 s': 0 };
  const status = async (key: string): Promise<number> => {
    const answer = await analyze(service.url, key, 'a text of no harm');
    await answer.arrayBuffer();
    return answer.status;
  };
  const load = Promise.all(
    Array.from({ length: 8 }, async () => {
      while (!isOver) {
        if ((await status(steady)) !== 200) faults.add('the steady key was refused');
        background++;
      }
    }),
  );
  await withSoakStore({ data: place.folder, plansFile: place.plans }, async (store) => {
    const account = (await store.accounts.list())[0]?.id ?? '';
    const late: Promise<void>[] = [];
    const chain = async (length: number): Promise<void> => {
      let key = await store.keys.create(account, 'chain');
      for (let i = 0; i < length; i++) {
        const old = key;
        key = await store.keys.rotate(account, old.id, GRACE_S);
        const rotated = Date.now();
        if ((await status(key.secret)) !== 200) faults.add('a new key was refused');
        seen['new keys at once']++;
        await pause((i * 53) % 600);
        const inGrace = await status(old.secret);
        // An answer that came after the grace may say either.
        if (Date.now() < rotated + GRACE_S * 1_000) {
          seen['old keys in grace']++;
          if (inGrace !== 200) faults.add('a false 401 within the grace', String(inGrace));
        }
        late.push(
          pause(Math.max(0, rotated + GRACE_S * 1_000 + LATE_MS - Date.now())).then(async () => {
            seen['old keys after it']++;
            if ((await status(old.secret)) !== 401) faults.add('an old key accepted a second after its grace');
          }),
        );
        if (i % 2 === 0) continue;
        const side = await store.keys.create(account, 'side');
        if ((await status(side.secret)) !== 200) faults.add('a side key was refused');
        await store.keys.revoke(account, side.id);
        late.push(
          pause(LATE_MS).then(async () => {
            seen['revoked keys after 1 s']++;
            if ((await status(side.secret)) !== 401) faults.add('a revoked key accepted a second after');
          }),
        );
      }
    };
    await Promise.all(Array.from({ length: CHAINS }, () => chain(Math.ceil(rotations / CHAINS))));
    await Promise.all(late);
  });
  isOver = true;
  await load;
  service.child.kill('SIGTERM');
  await service.ended;
  place.remove();
  return {
    name: 'keys',
    facts: { rotations, 'grace s': GRACE_S, ...seen, 'calls meanwhile': background },
    faults: faults.lines(),
  };
}
