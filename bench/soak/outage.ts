import { startPostgres } from '../../test/postgres/server.js';
import { shownKey, startService } from '../../test/service/service-process.js';
import { httpLoad } from '../service/http-load.js';
import { pause, RULES_FLAGS, recordIds, soakPlace, withSoakStore } from './soak-place.js';
import { collectFaults, type SoakReport } from './soak-report.js';

/** Pulls PostgreSQL's plug for a while under load: no verdict without its record, 500 or 503 meanwhile, recovery by itself. */
export async function outageSoak(seconds: number): Promise<SoakReport> {
  const place = soakPlace();
  const faults = collectFaults();
  const postgres = await startPostgres();
  const service = await startService([
    ...['--database-url', postgres.url, '--plans', place.plans, ...RULES_FLAGS],
    ...['--log-level', 'fatal'],
  ]);
  const key = shownKey(service);
  const acknowledged = new Set<string>();
  const phases = { before: 0, during: 0, starting: 0, after: 0 };
  let phase: keyof typeof phases = 'before';
  const refused = new Map<number, number>();
  const end = new AbortController();
  const load = httpLoad({
    url: service.url,
    path: '/analyze',
    headers: { Authorization: `Bearer ${key}` },
    body: (n) => JSON.stringify({ input: `text ${n} of no harm` }),
    connections: 16,
    signal: end.signal,
    onAnswer: (status, body) => {
      if (status === 200) {
        acknowledged.add((JSON.parse(body) as { evidence_id: string }).evidence_id);
        phases[phase]++;
      } else if (status === 500 || status === 503) refused.set(status, (refused.get(status) ?? 0) + 1);
      else faults.add('a status that no outage makes', `${status} ${phase}`);
    },
  });
  await pause(1_000);
  await postgres.crash();
  // An answer may be on its way.
  await pause(250);
  phase = 'during';
  await pause(seconds * 1_000);
  if ((await fetch(`${service.url}/readyz`)).status !== 503) faults.add('ready without a database');
  // It takes calls before `start` has seen that it does.
  phase = 'starting';
  await postgres.start();
  phase = 'after';
  const back = performance.now();
  let recovery = 0;
  while (recovery === 0 && performance.now() - back < 10_000) {
    await pause(20);
    if (phases.after > 0) recovery = performance.now() - back;
  }
  // What comes after the recovery must be kept, too.
  await pause(2_000);
  end.abort();
  const result = await load;
  if (phases.before === 0) faults.add('no load before');
  if (phases.during > 0) faults.add('a verdict without a database', String(phases.during));
  if (recovery === 0) faults.add('no recovery within 10 s');
  if (result.broken > 0) faults.add('a connection without an answer', String(result.broken));
  await withSoakStore({ databaseUrl: postgres.url, plansFile: place.plans }, async (store) => {
    const id = (await store.accounts.list())[0]?.id ?? '';
    const kept = await recordIds(store, id);
    for (const one of acknowledged) if (!kept.has(one)) faults.add('an acknowledged verdict without its record', one);
    const used = (await store.usage.months(id, 1))[0]?.used ?? 0;
    if (used < kept.size) faults.add('fewer calls counted than records', `${used} < ${kept.size}`);
  });
  service.child.kill('SIGTERM');
  await service.ended;
  await postgres.remove();
  place.remove();
  return {
    name: 'outage',
    facts: {
      'seconds away': seconds,
      acknowledged: acknowledged.size,
      ...phases,
      refused: [...refused].map(([status, n]) => `${n} x ${status}`).join(', '),
      'first verdict after, ms': Math.round(recovery),
    },
    faults: faults.lines(),
  };
}
