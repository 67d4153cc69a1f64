import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type ServiceProcess, shownKey, startService } from '../../test/service/service-process.js';
import { httpLoad } from '../service/http-load.js';
import { RULES_FLAGS, soakPlace } from './soak-place.js';
import { collectFaults, type SoakReport } from './soak-report.js';

const MB = 1024 * 1024;
/** By how much a floor of the last quarter may be above that of the third one. */
const GROWTH = 1.05;
const SAMPLE_MS = 500;
/** So many samples a quarter hold a full collection of garbage. */
const LEAST_SAMPLES = 40;

/** MB at one moment. */
interface Sample {
  readonly rss: number;
  /** Objects that live or wait for the next collection. */
  readonly heapUsed: number;
  /** All that isn't V8's heap: SQLite's page caches, buffers, code. */
  readonly outsideHeap: number;
  readonly workers: number;
}

/**
 * Many calls with distinct texts: memory doesn't grow with their number. Resident memory alone says little, since V8 lets its
 * heap grow by up to 60 MB between two collections: what is compared is the least of each quarter, of the heap and of the rest.
 * The writer's page cache (64 MiB) is full after some 150,000 calls, so the third and the last quarter of 400,000 are compared.
 */
export async function memorySoak(calls: number): Promise<SoakReport> {
  const place = soakPlace();
  const faults = collectFaults();
  const service = await startService([...RULES_FLAGS, '--data', place.folder, '--log-level', 'warn']);
  const samples: Sample[] = [];
  let isOver = false;
  const sampling = (async () => {
    while (!isOver) {
      samples.push(await sampleOf(service));
      await pause(SAMPLE_MS);
    }
  })();
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
    },
  });
  isOver = true;
  await sampling;
  service.child.kill('SIGTERM');
  await service.ended;
  place.remove();

  const size = Math.floor(samples.length / 4);
  const quarters = [0, 1, 2, 3].map((at) => samples.slice(at * size, (at + 1) * size));
  const floors = (of: keyof Sample): readonly number[] =>
    quarters.map((some) => Math.round(Math.min(...some.map((it) => it[of]))));
  if (size >= LEAST_SAMPLES)
    for (const of of ['heapUsed', 'outsideHeap', 'workers'] as const) {
      const [third = 0, last = 0] = floors(of).slice(2);
      if (last > third * GROWTH) faults.add('memory grows', `${of}: ${third} MB, then ${last} MB`);
    }
  return {
    name: 'memory',
    facts: {
      calls: result.answers,
      'calls a second': Math.round(result.answers / result.seconds),
      'p99 ms': Math.round(result.p99),
      'heap in use, least MB of each quarter': floors('heapUsed').join(', '),
      'outside the heap, least MB of each quarter': floors('outsideHeap').join(', '),
      'workers, least MB of each quarter': floors('workers').join(', '),
      'RSS of the service, least MB of each quarter': floors('rss').join(', '),
      'RSS of the service, most MB': Math.round(Math.max(...samples.map(({ rss }) => rss))),
    },
    faults: faults.lines(),
  };
}

async function sampleOf(service: ServiceProcess): Promise<Sample> {
  const page = await (await fetch(`${service.url}/metrics`)).text();
  const metric = (name: string): number =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(page)?.[1] ?? Number.NaN) / MB;
  const { pid } = service.child;
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
  const rss = rssOf(String(pid));
  return {
    rss,
    heapUsed: metric('nodejs_heap_size_used_bytes'),
    outsideHeap: rss - metric('nodejs_heap_size_total_bytes'),
    workers: children.reduce((sum, child) => sum + rssOf(child), 0),
  };
}

/** Resident memory of a process, MB. */
function rssOf(pid: string): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
