// `npm run bench -- service-start [--base DIST] [--runs N] [--mode rules] [--record NAME]`: how long the service takes until it says
// `ready`, in a new data folder and in one that it knows, and how quick the first calls after it are; of another build by turns.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { installedCorpus } from './corpus.js';
import { quantile } from './measure.js';

const { values } = parseArgs({
  options: {
    base: { type: 'string' },
    runs: { type: 'string', default: '8' },
    mode: { type: 'string', default: 'rules' },
    record: { type: 'string' },
  },
});
const CALLS = 60;
/** One that this process reads itself, and one for a worker. */
const SIZES = [200, 1_000] as const;
const TICKS_PER_SECOND = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));

const texts = installedCorpus().pieces(Math.max(...SIZES), 4_000);
let next = 0;
const newText = (size: number): string => {
  next += 1;
  return (texts[next % texts.length] ?? '').slice(0, size);
};

/** CPU time in milliseconds that a process and those it started have taken. */
function cpuOfTree(root: number): number {
  const stats = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        // After the name of the program, which may hold spaces: state, parent, ..., user time, system time.
        const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
        return [{ pid: Number(pid), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
      } catch {
        return [];
      }
    });
  const family = new Set([root]);
  for (let before = 0; before !== family.size; ) {
    before = family.size;
    for (const { pid, parent } of stats) if (family.has(parent)) family.add(pid);
  }
  const ticks = stats.reduce((sum, one) => sum + (family.has(one.pid) ? one.ticks : 0), 0);
  return (ticks * 1000) / TICKS_PER_SECOND;
}

interface Start {
  readonly wall: number;
  readonly cpu: number;
  /** Latency of the calls right after `ready`, one after another, sizes by turns. */
  readonly calls: readonly number[];
  readonly key: string;
}

async function start(dist: string, data: string, knownKey: string): Promise<Start> {
  const args = [join(dist, 'cli', 'main.js'), 'serve', '--data', data, '--port', '0', '--mode', values.mode];
  const started = performance.now();
  const child = spawn(process.execPath, [...args, '--log-level', 'error'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  let output = '';
  let url: string | undefined;
  for await (const chunk of child.stdout) {
    output += String(chunk);
    url = /^ready (\S+)$/m.exec(output)?.[1];
    if (url !== undefined) break;
  }
  if (url === undefined || child.pid === undefined) throw new Error(`no service: ${output}`);
  const wall = performance.now() - started;
  const cpu = cpuOfTree(child.pid);
  const key = /svc_live_\S+/.exec(output)?.[0] ?? knownKey;
  const calls: number[] = [];
  for (let call = 0; call < CALLS; call += 1) {
    const body = JSON.stringify({ input: newText(SIZES[call % SIZES.length] ?? 0) });
    const before = performance.now();
    const response = await fetch(`${url}/analyze`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body,
    });
    await response.text();
    if (!response.ok) throw new Error(`the call was answered ${response.status}`);
    calls.push(performance.now() - before);
  }
  child.kill('SIGTERM');
  await ended;
  return { wall, cpu, calls, key };
}

const builds: Record<string, string> = { now: resolve('dist') };
if (values.base !== undefined) builds.base = resolve(values.base);
const runs: { readonly build: string; readonly kind: string; readonly start: Start }[] = [];
// fetch's own first call.
await fetch('http://127.0.0.1:9/').catch(() => undefined);
for (let run = 0; run < Number(values.runs); run += 1) {
  const names = Object.keys(builds);
  for (const build of run % 2 === 0 ? names : names.reverse()) {
    const data = mkdtempSync(join(tmpdir(), 'portcullis-start-'));
    let key = '';
    for (const kind of ['new folder', 'known folder']) {
      const one = await start(builds[build] ?? '', data, key);
      key = one.key;
      runs.push({ build, kind, start: one });
    }
    rmSync(data, { recursive: true });
  }
}

const median = (numbers: readonly number[], share = 0.5): string =>
  quantile(
    [...numbers].sort((a, b) => a - b),
    share,
  ).toFixed(share === 0.5 && (numbers[0] ?? 0) > 100 ? 0 : 1);
const rows = Object.keys(builds).flatMap((build) =>
  ['new folder', 'known folder'].map((kind) => {
    const own = runs.filter((run) => run.build === build && run.kind === kind).map((run) => run.start);
    const [wall, cpu] = [own.map((one) => one.wall), own.map((one) => one.cpu)];
    const calls = own.flatMap((one) => one.calls.slice(1));
    const first = own.map((one) => one.calls[0] ?? Number.NaN);
    return `| ${build} | ${kind} | ${own.length} | ${median(wall)} | ${median(cpu)} | ${median(first)} | ${median(calls)} | ${median(calls, 0.99)} | ${Math.max(...calls).toFixed(1)} |`;
  }),
);
const page = `# Start of the service

Made by \`npm run bench -- service-start${values.base === undefined ? '' : ' --base DIST'} --mode ${values.mode}\`, Node ${process.versions.node}. Milliseconds, medians of n starts: from the
start of the process to \`ready\`, CPU time of all its processes by then, and the first ${CALLS} calls after it, one after another, each with
a new text of ${SIZES.join(' or ')} characters.${values.base === undefined ? '' : ' `base`: another build, by turns.'}

| build | data | n | ready | CPU | first call | calls p50 | p99 | slowest |
| - | - | -: | -: | -: | -: | -: | -: | -: |
${rows.join('\n')}
`;
console.log(page);
if (values.record !== undefined) writeFileSync(`bench/record/${values.record}.md`, page);
