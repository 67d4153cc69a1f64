// A process of its own on a store, for tests that kill it or race it: node main.js write|race PLACE ACCOUNT ...
import { writeSync } from 'node:fs';
import { openStore } from '../../../src/store/open-store.js';
import { makeRecord } from '../make-record.js';

const [task, place = '', accountId = '', plansFile = '', count = '0'] = process.argv.slice(2);
const started = performance.now();
const store = await openStore({
  ...(place.startsWith('postgres:') ? { databaseUrl: place } : { data: place }),
  plansFile: plansFile === '' ? undefined : plansFile,
});
/** At once and past every buffer: what stands on the pipe was acknowledged. */
const say = (line: string): void => {
  writeSync(1, `${line}\n`);
};
say(`ready ${Math.round(performance.now() - started)}`);

/** Calls one after another until this process is killed: each is counted, then recorded, then acknowledged. */
const write = async (): Promise<void> => {
  for (;;) {
    const at = Date.now();
    const charge = await store.usage.charge(accountId, at);
    if (!charge.allowed) throw new Error(charge.code);
    const record = makeRecord({
      accountId,
      time: at,
      text: `a text of ${at}`,
      rule: at % 5 === 0 ? 'override.x' : 'none',
    });
    await store.evidence.append(record);
    say(record.id);
  }
};

/** All at once; says how many were let in. */
const race = async (): Promise<void> => {
  const answers = await Promise.all(
    Array.from({ length: Number(count) }, () => store.usage.charge(accountId, Date.now())),
  );
  say(`allowed ${answers.filter((it) => it.allowed).length}`);
  await store.close();
};

if (task === 'write') await Promise.all(Array.from({ length: Number(count) }, write));
else await race();
