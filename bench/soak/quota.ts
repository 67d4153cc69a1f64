import { startPostgres } from '../../test/postgres/server.js';
import { type ServiceProcess, startService } from '../../test/service/service-process.js';
import { httpLoad } from '../service/http-load.js';
import { RULES_FLAGS, recordIds, soakPlace, withSoakStore } from './soak-place.js';
import { collectFaults, type SoakReport } from './soak-report.js';

const REPLICAS = 3;
const LIMIT = 500;

/** Many calls at once against a plan's limit, over three replicas on one PostgreSQL: exactly the limit passes, each time. */
export async function quotaSoak(rounds: number, calls = 2_000): Promise<SoakReport> {
  const place = soakPlace(LIMIT);
  const faults = collectFaults();
  const postgres = await startPostgres();
  const options = { databaseUrl: postgres.url, plansFile: place.plans };
  const flags = ['--database-url', postgres.url, '--plans', place.plans, ...RULES_FLAGS];
  const services: ServiceProcess[] = [];
  for (let i = 0; i < REPLICAS; i++)
    services.push(
      await startService([
        ...flags,
        '--max-concurrency',
        '5000',
        '--calls-per-account',
        '5000',
        '--connections-per-address',
        '5000',
      ]),
    );
  let passed = 0;
  await withSoakStore(options, async (store) => {
    for (let round = 0; round < rounds; round++) {
      const account = await store.accounts.create(`quota-${round}`, 'trial');
      const { secret } = await store.keys.create(account.id, 'soak');
      const share = services.map((_, i) => Math.floor(calls / REPLICAS) + (i < calls % REPLICAS ? 1 : 0));
      const results = await Promise.all(
        services.map(({ url }, i) =>
          httpLoad({
            url,
            path: '/analyze',
            headers: { Authorization: `Bearer ${secret}` },
            body: (n) => JSON.stringify({ input: `text ${i} ${n} of no harm` }),
            connections: share[i] ?? 0,
            requests: share[i] ?? 0,
          }),
        ),
      );
      const of = (status: number): number => results.reduce((sum, it) => sum + (it.statuses.get(status) ?? 0), 0);
      passed += of(200);
      if (of(200) !== LIMIT || of(429) !== calls - LIMIT)
        faults.add('not exact', results.map(({ statuses }) => JSON.stringify([...statuses])).join(' '));
      const kept = (await recordIds(store, account.id)).size;
      const used = (await store.usage.months(account.id, 1))[0]?.used ?? 0;
      if (kept !== LIMIT || used !== LIMIT) faults.add('records or count', `${kept} ${used}`);
    }
  });
  for (const { child, ended } of services) {
    child.kill('SIGTERM');
    await ended;
  }
  await postgres.remove();
  place.remove();
  return {
    name: 'quota',
    facts: { rounds, 'calls at once': calls, limit: LIMIT, replicas: REPLICAS, 'passed in all': passed },
    faults: faults.lines(),
  };
}
