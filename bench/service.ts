// npm run bench -- service [--seconds N] [--rounds N] [--connections N] [--length N] [--texts distinct,same] [--record]: the service in mode `rules`
// with durable evidence, against a bare fastify echo of the same bodies, in turns of one run.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { installedCorpus } from './corpus.js';
import { httpLoad, type LoadResult } from './service/http-load.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    length: { type: 'string', default: '100,1000' },
    texts: { type: 'string', default: 'distinct,same' },
    echo: { type: 'string', default: '.cache/service/echo.js' },
    data: { type: 'string' },
    record: { type: 'boolean', default: false },
    serve: { type: 'string', default: '' },
    node: { type: 'string', default: '' },
  },
});
const [rounds, connections] = [Number(values.rounds), Number(values.connections)];
const ms = Number(values.seconds) * 1000;

interface Server {
  readonly child: ChildProcess;
  readonly url: string;
  readonly output: string;
}

const start = (args: readonly string[]): Promise<Server> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      const url = /^ready (\S+)$/m.exec(output)?.[1];
      if (url !== undefined) resolve({ child, url, output });
    });
    child.on('exit', () => reject(new Error(`it ended: ${output}`)));
  });

/** Seconds of user and system time of a process and those it forked. Linux alone has it; 0 elsewhere. */
const cpuOf = ({ child }: Server): number => {
  const ofOne = (pid: number): number => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      const kids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean);
      return (Number(fields[11]) + Number(fields[12])) / 100 + kids.reduce((sum, kid) => sum + ofOne(Number(kid)), 0);
    } catch {
      return 0;
    }
  };
  return ofOne(child.pid ?? 0);
};

interface Turn extends LoadResult {
  /** Microseconds of processor time an answer. */
  readonly cpu: number;
}

const turn = async (server: Server, key: string, body: (n: number) => string, requests?: number): Promise<Turn> => {
  const before = cpuOf(server);
  const headers = { Authorization: `Bearer ${key}` };
  const length = requests === undefined ? { ms } : { requests };
  const result = await httpLoad({ url: server.url, path: '/analyze', headers, body, connections, ...length });
  return { ...result, cpu: ((cpuOf(server) - before) * 1e6) / Math.max(1, result.answers) };
};

const middle = (numbers: readonly number[]): number => [...numbers].sort((a, b) => a - b)[numbers.length >> 1] ?? 0;

const corpus = installedCorpus();
const data = values.data ?? mkdtempSync(join(tmpdir(), 'portcullis-load-'));
const plans = join(data, 'plans.yaml');
writeFileSync(plans, 'plans:\n  trial: { monthly_calls: 1000000000, trial_days: 14 }\noverage_pack_calls: 1\n');
const echo = await start([values.echo]);
const flags = ['serve', '--data', data, '--port', '0', '--mode', 'rules', '--log-level', 'warn'];
const service = await start([
  ...values.node.split(' ').filter(Boolean),
  join('dist', 'cli', 'main.js'),
  ...flags,
  ...values.serve.split(' ').filter(Boolean),
]);
const key = /svc_live_\S+/.exec(service.output)?.[0] ?? '';
const rows: string[] = [];
const say = (line: string): void => {
  rows.push(line);
  process.stdout.write(`${line}\n`);
};
try {
  say(
    '| body | round | echo/s | service/s | share | echo CPU µs | service CPU µs | CPU share | p50 ms | p99 ms | max ms |',
  );
  say('| - | - | - | - | - | - | - | - | - | - | - |');
  const bodies = values.length.split(',').flatMap((length) => {
    const texts = corpus.pieces(Number(length), 50_000).map((input) => JSON.stringify({ input }));
    let turnOf = 0;
    const distinct = { name: `${length} characters, distinct`, body: () => texts[turnOf++ % texts.length] ?? '' };
    const same = { name: `${length} characters, the same`, body: () => texts[0] ?? '' };
    const asked = values.texts.split(',');
    return [...(asked.includes('distinct') ? [distinct] : []), ...(asked.includes('same') ? [same] : [])];
  });
  for (const { name, body } of bodies) {
    const turns: { readonly bare: Turn; readonly whole: Turn }[] = [];
    // Code that ran a few hundred times isn't compiled yet.
    await turn(echo, key, body, 20_000);
    await turn(service, key, body, 6_000);
    for (let round = 0; round < rounds; round++) {
      const bare = await turn(echo, key, body);
      const whole = await turn(service, key, body);
      const good = whole.statuses.get(200) ?? 0;
      if (good !== whole.answers || whole.broken > 0) throw new Error(`answers other than 200: ${[...whole.statuses]}`);
      turns.push({ bare, whole });
    }
    const rate = ({ answers, seconds }: Turn): number => answers / seconds;
    const line = (
      label: string,
      of: (pick: (turn: { readonly bare: Turn; readonly whole: Turn }) => number) => number,
    ): void => {
      const [bare, whole] = [of((it) => rate(it.bare)), of((it) => rate(it.whole))];
      const [bareCpu, wholeCpu] = [of((it) => it.bare.cpu), of((it) => it.whole.cpu)];
      const share = of((it) => rate(it.whole) / rate(it.bare));
      say(
        `| ${name} | ${label} | ${bare.toFixed(0)} | ${whole.toFixed(0)} | ${(share * 100).toFixed(1)} % | ${bareCpu.toFixed(0)} | ${wholeCpu.toFixed(0)} | ${((100 * bareCpu) / wholeCpu).toFixed(1)} % | ${of((it) => it.whole.p50).toFixed(1)} | ${of((it) => it.whole.p99).toFixed(1)} | ${of((it) => it.whole.max).toFixed(0)} |`,
      );
    };
    line(`median of ${rounds}`, (pick) => middle(turns.map(pick)));
  }
} finally {
  for (const { child } of [echo, service]) child.kill('SIGTERM');
  if (values.data === undefined) setTimeout(() => rmSync(data, { recursive: true, force: true }), 2_000);
}
if (values.record) {
  const page = `# The service under load, ${new Date().toISOString().slice(0, 10)}

Made by \`npm run bench -- service --record\`: mode \`rules\`, evidence durable before each answer (SQLite, WAL, \`synchronous=FULL\`),
${connections} connections, turns of ${ms / 1000} s one after the other, on ${availableParallelism()} cores (${cpus()[0]?.model}), Node ${process.version}, load average ${loadavg()[0]?.toFixed(1)} at the end.
The client runs on the same cores. CPU is the server's user and system time an answer, its scorers' too: it tells more than the rate where others use the machine.

${rows.join('\n')}
`;
  writeFileSync(join('bench', 'record', 'service-load.md'), page);
}
