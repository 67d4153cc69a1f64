import { readFileSync } from 'node:fs';
import { shownKey, startService } from '../../test/service/service-process.js';
import { httpLoad } from '../service/http-load.js';
import { RULES_FLAGS, soakPlace } from './soak-place.js';
import { collectFaults, type SoakReport } from './soak-report.js';

const MB = 1024;
/** By how much the last quarter may be above the second one. */
const GROWTH = 1.1;

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

/** Many calls with distinct texts: the resident memory of the service doesn't grow with their number. */
export async function memorySoak(calls: number): Promise<SoakReport> {
  const place = soakPlace();
  const faults = collectFaults();
  const service = await startService([...RULES_FLAGS, '--data', place.folder, '--log-level', 'warn']);
  const rss = (): number => {
    const status = readFileSync(`/proc/${service.child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / MB;
  };
  const samples: number[] = [];
  const step = Math.max(1, Math.floor(calls / 100));
  let answers = 0;
  const key = shownKey(service);
  const result = await httpLoad({
    url: service.url,
    path: '/analyze',
    headers: { Authorization: `Bearer ${key}` },
    body: (n) => JSON.stringify({ input: `text ${n} of no harm, ${n * 7} words long and sent ${n % 97} times` }),
    connections: 32,
    requests: calls,
    onAnswer: (status) => {
      if (status !== 200) faults.add('an answer other than 200', String(status));
      if (++answers % step === 0) samples.push(rss());
    },
  });
  service.child.kill('SIGTERM');
  await service.ended;
  place.remove();
  const quarter = samples.length >> 2;
  const [second, last] = [middle(samples.slice(quarter, 2 * quarter)), middle(samples.slice(-quarter))];
  if (last > second * GROWTH) faults.add('memory grows', `${second.toFixed(0)} MB, then ${last.toFixed(0)} MB`);
  return {
    name: 'memory',
    facts: {
      calls: result.answers,
      'calls a second': Math.round(result.answers / result.seconds),
      'p99 ms': Math.round(result.p99),
      'RSS MB, second quarter': Math.round(second),
      'RSS MB, last quarter': Math.round(last),
      'RSS MB, most': Math.round(Math.max(...samples)),
    },
    faults: faults.lines(),
  };
}
