import { existsSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { createEngine } from '../src/index.js';
import { guardModel, guardTools } from '../src/integrations/ai-sdk/index.js';
import { type Analyzer, createGuard } from '../src/policy/index.js';
import { installedCorpus, mixed } from './corpus.js';
import { type Timing, timingOf } from './measure.js';

// What a guard costs an agent: npm run bench -- agent [--runs N] [--record]. A run of the AI SDK with a mock model makes ten
// steps, each with a tool call whose result is a text that no step has seen. The same run is made without and with the guard,
// in turn; before a time counts, the response is checked, and that no text was screened twice.

const STEPS = 10;
const { values } = parseArgs({
  options: { runs: { type: 'string', default: '40' }, record: { type: 'boolean', default: false } },
});
const runs = Number(values.runs);

interface AiSdk {
  generateText(options: object): Promise<{ readonly text: string; readonly steps: readonly unknown[] }>;
  jsonSchema(schema: object): object;
  tool(definition: object): object;
  wrapLanguageModel(options: object): object;
}
interface AiSdkTest {
  readonly MockLanguageModelV4: new (options: object) => object;
}
const sdk = resolve('test/hosts/node_modules/ai/dist');
if (!existsSync(sdk)) throw new Error('the AI SDK is missing: npm ci --prefix test/hosts');
const load = <T>(file: string): Promise<T> => import(pathToFileURL(resolve(sdk, file)).href);
const { generateText, jsonSchema, tool, wrapLanguageModel } = await load<AiSdk>('index.js');
const { MockLanguageModelV4 } = await load<AiSdkTest>('test/index.js');

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const mockModel = (): object => {
  let step = 0;
  const doGenerate = async (): Promise<object> => {
    const index = step++;
    const isLast = index === STEPS - 1;
    const input = JSON.stringify({ query: `page ${index} of the report` });
    const content = isLast
      ? { type: 'text', text: 'done' }
      : { type: 'tool-call', toolCallId: `c${index}`, toolName: 'read', input };
    const finishReason = { unified: isLast ? 'stop' : 'tool-calls', raw: undefined };
    return { content: [content], finishReason, usage, warnings: [] };
  };
  return new MockLanguageModelV4({ doGenerate });
};

const toolsOf = (texts: readonly string[]): Record<string, object> => {
  let next = 0;
  const inputSchema = jsonSchema({ type: 'object', properties: { query: { type: 'string' } } });
  const execute = async (): Promise<string> => texts[next++] ?? '';
  return { read: tool({ description: 'Reads a page of the report.', inputSchema, execute }) };
};

const engine = createEngine({ model: false });
await engine.warmUp();

/** Milliseconds of one run. */
interface RunTime {
  readonly wall: number;
  /** Of this process, all threads. */
  readonly cpu: number;
}

/** Undefined where the rules blocked one of the texts. */
const timeRun = async (texts: readonly string[], isGuarded: boolean): Promise<RunTime | undefined> => {
  const asked: string[] = [];
  let isBlocked = false;
  const analyzer: Analyzer = {
    analyze(input, options) {
      asked.push(`${options?.channel} ${JSON.stringify(input)}`);
      return engine.analyze(input, options);
    },
  };
  const report = ({ action }: { action: string }): void => {
    if (action !== 'allow') isBlocked = true;
  };
  const guard = createGuard({ engine: analyzer, report });
  const bare = mockModel();
  const cpuBefore = process.cpuUsage();
  const started = performance.now();
  const { text, steps } = await generateText({
    model: isGuarded ? wrapLanguageModel({ model: bare, middleware: guardModel(guard) }) : bare,
    tools: isGuarded ? guardTools(guard, toolsOf(texts)) : toolsOf(texts),
    stopWhen: ({ steps: made }: { steps: readonly unknown[] }) => made.length === STEPS,
    prompt: 'Sum up the report.',
  });
  const wall = performance.now() - started;
  const { user, system } = process.cpuUsage(cpuBefore);
  if (isBlocked) return undefined;
  if (text !== 'done' || steps.length !== STEPS) throw new Error('the run went wrong');
  // The definition, the question, and each call with its result.
  if (isGuarded && (asked.length !== 2 * STEPS || new Set(asked).size !== asked.length))
    throw new Error('a text was screened twice');
  return { wall, cpu: (user + system) / 1_000 };
};

const SIZES = [100, 1_000, 10_000] as const;
const perStep = (microseconds: number): string => `${(microseconds / 1_000 / STEPS).toFixed(2)} ms`;
const rows: string[] = [];
for (const size of SIZES) {
  const spare = 5;
  const needed = (runs + spare) * (STEPS - 1);
  const texts = mixed(installedCorpus().pieces(size, needed), 2 * needed);
  const times = { bare: [] as RunTime[], guarded: [] as RunTime[] };
  let blocked = 0;
  for (let run = 0; times.guarded.length < runs && (run + 1) * (STEPS - 1) <= texts.length; run += 1) {
    const own = texts.slice(run * (STEPS - 1), (run + 1) * (STEPS - 1));
    const first = run % 2 === 0 ? await timeRun(own, false) : undefined;
    const guarded = await timeRun(own, true);
    const bare = first ?? (await timeRun(own, false));
    if (guarded === undefined || bare === undefined) blocked += 1;
    // The first runs compile code on both sides.
    else if (run >= spare) {
      times.bare.push(bare);
      times.guarded.push(guarded);
    }
  }
  const of = (side: 'bare' | 'guarded', clock: keyof RunTime): Timing =>
    timingOf(times[side].map((time) => time[clock]));
  const cells = (['wall', 'cpu'] as const).flatMap((clock) => {
    const [a, b] = [of('bare', clock), of('guarded', clock)];
    return [perStep(a.p50), perStep(b.p50), `**${perStep(b.p50 - a.p50)}**`];
  });
  rows.push(`| ${[size, times.guarded.length, ...cells, perStep(of('guarded', 'wall').p95), blocked].join(' | ')} |`);
  console.error(rows.at(-1));
}
await engine.close();

const page = `# What a guard adds to a step of an agent

\`npm run bench -- agent --runs ${runs}\`, ${new Date().toISOString().slice(0, 10)}, mode \`rules\`, Node ${process.versions.node}, ${cpus().length} cores, load average ${(loadavg()[0] ?? 0).toFixed(1)}. An agent of the AI SDK with a
mock model makes ten steps; nine call a tool, whose result is a text that nothing has seen before. Each run is made without and with
\`guardModel\` and \`guardTools\`. A step with the guard screens the arguments and the result; the question and the tool's definition are screened
once a run. Of ${2 * STEPS} screenings in a run none is of a text that was screened before, or the bench fails; the history, which grows with each
step, comes from the cache. "Blocked" are runs with a text of the corpus that the rules block; they aren't counted.

The first three times are of the clock, which a busy machine stretches; the next three are CPU time of the process. All are p50 of a step
but the last, the p95 of a guarded step.

| characters of a result | runs | bare | guarded | added | CPU bare | CPU guarded | CPU added | guarded p95 | blocked |
| -: | -: | -: | -: | -: | -: | -: | -: | -: | -: |
${rows.join('\n')}
`;
console.log(page);
if (values.record) writeFileSync('bench/record/agent.md', page);
