import { type ServiceProcess, shownKey, startService } from '../../test/service/service-process.js';
import { httpLoad } from '../service/http-load.js';
import { pause, RULES_FLAGS, recordIds, soakPlace, withSoakStore } from './soak-place.js';
import { collectFaults, type SoakReport } from './soak-report.js';

/** How many callers. */
const CONNECTIONS = 16;

/** Kills the service without a word under load, again and again: nothing acknowledged may be lost. `readyMs` bounds each start. */
export async function killSoak(rounds: number, readyMs = 3_000): Promise<SoakReport> {
  const place = soakPlace();
  const faults = collectFaults();
  const flags = ['--data', place.folder, ...RULES_FLAGS, '--log-level', 'warn'];
  const acknowledged = new Set<string>();
  const starts: number[] = [];
  let key = '';

  const start = async (): Promise<ServiceProcess> => {
    const service = await startService(flags);
    starts.push(service.readyMs);
    if (key === '') key = shownKey(service);
    return service;
  };
  const verify = async (): Promise<void> =>
    withSoakStore({ data: place.folder, plansFile: place.plans }, async (store) => {
      const id = (await store.accounts.list())[0]?.id ?? '';
      const kept = await recordIds(store, id);
      for (const one of acknowledged) if (!kept.has(one)) faults.add('an acknowledged verdict without its record', one);
      const used = (await store.usage.months(id, 1))[0]?.used ?? 0;
      if (used < kept.size) faults.add('fewer calls counted than records', `${used} < ${kept.size}`);
      const hours = await store.evidence.counts(id, 0, Number.MAX_SAFE_INTEGER, 'hour');
      const counted = hours.reduce((sum, { calls }) => sum + calls, 0);
      if (counted !== kept.size) faults.add('hours that differ from the records', `${counted}, ${kept.size}`);
      for (const problem of (await store.check()).problems) faults.add('integrity', problem);
    });

  for (let round = 0; round < rounds; round++) {
    const service = await start();
    const load = httpLoad({
      url: service.url,
      path: '/analyze',
      headers: { Authorization: `Bearer ${key}` },
      body: (n) => JSON.stringify({ input: `text ${round} ${n} of no harm` }),
      connections: CONNECTIONS,
      ms: 60_000,
      onAnswer: (status, body) => {
        if (status === 200) acknowledged.add((JSON.parse(body) as { evidence_id: string }).evidence_id);
        else faults.add('an answer other than 200', String(status));
      },
    });
    await pause(100 + ((round * 37) % 400));
    service.child.kill('SIGKILL');
    await service.ended;
    await load;
    if (round % 20 === 19) await verify();
  }
  await verify();
  const last = await start();
  last.child.kill('SIGTERM');
  if ((await last.ended) !== 0) faults.add('the last end', 'exit code');
  place.remove();
  starts.sort((a, b) => a - b);
  const slow = starts.filter((ms) => ms > readyMs).length;
  if (slow > 0) faults.add(`starts over ${readyMs} ms`, String(slow));
  return {
    name: 'kill',
    facts: {
      rounds,
      acknowledged: acknowledged.size,
      'ready ms, median': Math.round(starts[starts.length >> 1] ?? 0),
      'ready ms, most': Math.round(starts.at(-1) ?? 0),
    },
    faults: faults.lines(),
  };
}
