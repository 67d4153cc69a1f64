import { writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { NodeSDK } from '@opentelemetry/sdk-node';
import { createEngine } from '../src/index.js';
import { instrument } from '../src/opentelemetry.js';
import { createGuard } from '../src/policy/index.js';
import { installedCorpus, mixed } from './corpus.js';
import { type Timing, timingOf } from './measure.js';

// What `instrument` adds to a screening of 1 kB by the rules: npm run bench -- opentelemetry [--texts N] [--record]. Each text
// is screened once, by a guard or an instrumented guard in turn: without an SDK first, then with one that samples nothing, then
// with one that records every span and exports none.

const { values } = parseArgs({
  options: { texts: { type: 'string', default: '4000' }, record: { type: 'boolean', default: false } },
});
const each = Number(values.texts);
const corpus = installedCorpus();
const texts = mixed(corpus.pieces(1000, 8 * each), 8 * each);
if (texts.length < 8 * each) throw new Error(`the corpus has ${texts.length} texts, ${8 * each} are needed`);
const engine = createEngine({ model: false });
await engine.warmUp();
let next = 0;

interface Pair {
  readonly plain: Timing;
  readonly instrumented: Timing;
}

/** Times both in turn, so that a busy moment of the machine is shared. */
async function timePair(): Promise<Pair> {
  const plain = { guard: createGuard({ engine }), times: [] as number[] };
  const instrumented = { guard: instrument(createGuard({ engine })), times: [] as number[] };
  for (const [at, text] of texts.slice(next, next + 2 * each).entries()) {
    // Pairs turn: plain first, then instrumented first.
    const { guard, times } = (at + (at >> 1)) % 2 === 0 ? plain : instrumented;
    const started = performance.now();
    const { action } = await guard.screen('tool_result', text);
    times.push(performance.now() - started);
    if (action !== 'allow' && action !== 'replace') throw new Error(`a screening ended with ${action}`);
  }
  next += 2 * each;
  const timing = ({ times }: typeof plain): Timing => timingOf(times.slice(each / 10));
  return { plain: timing(plain), instrumented: timing(instrumented) };
}

async function withSdk(sampler: string): Promise<Pair> {
  process.env.OTEL_TRACES_SAMPLER = sampler;
  const sdk = new NodeSDK({ spanProcessors: [], metricReaders: [], instrumentations: [], autoDetectResources: false });
  sdk.start();
  const pair = await timePair();
  await sdk.shutdown();
  return pair;
}

process.env.OTEL_METRICS_EXPORTER = 'none';
process.env.OTEL_LOGS_EXPORTER = 'none';
const load = loadavg()[0] ?? 0;
await timePair();
const rows = [
  ['no SDK', await timePair()],
  ['an SDK that samples no span', await withSdk('always_off')],
  ['an SDK that records every span, no exporter', await withSdk('always_on')],
] as const;

const micro = (time: number): string => `${time.toFixed(1)} µs`;
const table = rows.map(([name, { plain, instrumented }]) => {
  const more = instrumented.p50 / plain.p50 - 1;
  const cells = [micro(plain.p50), micro(instrumented.p50), `${(100 * more).toFixed(1)} %`];
  return `| ${[name, ...cells, `${micro(plain.p95)} / ${micro(instrumented.p95)}`].join(' | ')} |`;
});
const page = `# Overhead of OpenTelemetry

\`npm run bench -- opentelemetry --texts ${each} --record\`, ${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${cpus().length} cores, load before ${load.toFixed(1)}.
A guard's \`screen\` of 1,000 characters by the rules, no text twice; ${rows[0][1].plain.n} texts a cell. Texts: ${corpus.name}.

| | p50 plain | p50 instrumented | more | p95 plain / instrumented |
| - | -: | -: | -: | -: |
${table.join('\n')}
`;
console.log(page);
if (values.record) writeFileSync('bench/record/opentelemetry.md', page);
