// `npm run bench -- conversation [--runs N] [--messages N]`: a conversation that grows by one message of 1 kB and is screened whole at every step, as
// `guardFetch` does: CPU time of the last step against the new message alone. A fourth of the messages are the user's, a fourth tool results:
// the last of 61 is the user's, the last of 63 a result, whose task and beginning are new with it.
import { parseArgs } from 'node:util';
import { createEngine } from '../src/index.js';
import { guardFetch } from '../src/integrations/openai/index.js';
import { createGuard } from '../src/policy/index.js';
import { installedCorpus, mixed } from './corpus.js';
import { quantile } from './measure.js';

const { values } = parseArgs({
  options: { runs: { type: 'string', default: '30' }, messages: { type: 'string', default: '61' } },
});
const runs = Number(values.runs);
const count = Number(values.messages);
const engine = createEngine({ model: false });
await engine.warmUp();
const verdicts = mixed(installedCorpus().pieces(1_000, 4_000), 4_000).filter(
  (text) => engine.scan(text).verdict === 'allow',
);
const cpuOf = async (run: () => Promise<unknown>): Promise<number> => {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
};
const answer = async (): Promise<Response> =>
  Response.json({ choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' } }] });

/** User, assistant with a call, the result of the call, assistant. */
const toMessage = (content: string, at: number): object => {
  const id = `call_${Math.floor(at / 4)}`;
  if (at % 4 === 0) return { role: 'user', content };
  if (at % 4 === 2) return { role: 'tool', tool_call_id: id, content };
  const call = { id, type: 'function', function: { name: 'read_page', arguments: '{}' } };
  return { role: 'assistant', content, ...(at % 4 === 1 && { tool_calls: [call] }) };
};

const last: number[] = [];
const alone: number[] = [];
for (let run = 0; run < runs; run += 1) {
  const texts = verdicts.slice(run * count, (run + 1) * count);
  if (texts.length < count) throw new Error(`the corpus has too few texts for ${runs} runs`);
  const messages = texts.map(toMessage);
  const post = (shown: readonly object[], fetch: typeof globalThis.fetch): Promise<Response> =>
    fetch('https://api.example/v1/chat/completions', {
      method: 'POST',
      body: JSON.stringify({ model: 'm', messages: shown }),
    });
  const growing = guardFetch(createGuard({ engine }), answer);
  for (let turn = 1; turn < count; turn += 1) await post(messages.slice(0, turn), growing);
  const both = [
    async () => last.push(await cpuOf(() => post(messages, growing))),
    async () => alone.push(await cpuOf(() => post(messages.slice(-1), guardFetch(createGuard({ engine }), answer)))),
  ];
  for (const one of run % 2 === 0 ? both : both.reverse()) await one();
}
await engine.close();
const row = (name: string, times: readonly number[]): string => {
  const sorted = [...times].sort((a, b) => a - b);
  return `| ${name} | ${times.length} | ${[0.5, 0.95].map((share) => quantile(sorted, share).toFixed(2)).join(' / ')} ms |`;
};
console.log('| screened | n | CPU: p50 / p95 |\n| - | -: | - |');
console.log(row('the new message alone', alone));
console.log(row(`all ${count} messages, ${count - 1} of them known`, last));
