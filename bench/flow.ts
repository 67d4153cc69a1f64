import { parseArgs } from 'node:util';
import { addEntry } from '../src/policy/run/entries.js';
import { flowOf } from '../src/policy/run/flow.js';
import { emptyRun } from '../src/policy/run/run-state.js';

// What a call's flow check costs in a long run: npm run bench -- flow [--results N] [--length N] [--suspicious SHARE].
// A run of results with addresses in them; then calls, one in four of which carries a value from the data.

const { values } = parseArgs({
  options: {
    results: { type: 'string', default: '200' },
    length: { type: 'string', default: '5000' },
    suspicious: { type: 'string', default: '0.2' },
    calls: { type: 'string', default: '2000' },
  },
});
const results = Number(values.results);
const length = Number(values.length);
const share = Number(values.suspicious);
const calls = Number(values.calls);

let seed = 1;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const word = (): string => `${'aeioubcdfg'.charAt(random(10))}${random(9_000).toString(36)}word${random(40)}`;
const address = (result: number, at: number): string => `person${result}.${at}@company${result % 30}.example`;
const resultText = (result: number): string => {
  const parts: string[] = [];
  for (let size = 0, at = 0; size < length; at += 1) {
    const part =
      at % 25 === 24 ? `Write to ${address(result, at)} or https://site${result}.example/page${at}.` : word();
    parts.push(part);
    size += part.length + 1;
  }
  return parts.join(' ').slice(0, length);
};
const quantile = (sorted: readonly number[], share: number): string =>
  (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(3);
const summary = (times: readonly number[]): string => {
  const sorted = [...times].sort((a, b) => a - b);
  return `p50 ${quantile(sorted, 0.5)} ms, p95 ${quantile(sorted, 0.95)} ms, p99 ${quantile(sorted, 0.99)} ms, n ${sorted.length}`;
};
/** CPU time of this process: a loaded machine says nothing of a check by the clock. */
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const heap = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
};

const texts = Array.from({ length: results }, (_, result) => resultText(result));
const fill = (state = emptyRun(7)) => {
  const times = texts.map((text, result) => {
    const suspicious = result < results * share ? [{ start: 0, end: text.length, probability: 0.6 }] : [];
    const started = cpuMs();
    addEntry(state, { role: 'untrusted', text, tool: 'read_page', evidenceId: `ev_${result}`, suspicious });
    return cpuMs() - started;
  });
  return { state, times };
};
fill();
const before = heap();
const { state, times } = fill();
const memory = (heap() - before) / 2 ** 20;

const checks: number[] = [];
let found = 0;
for (let call = 0; call < calls; call += 1) {
  const to = call % 4 === 0 ? address(random(results), 24) : `someone${call}@known.example`;
  const body = Array.from({ length: 40 }, word).join(' ');
  const args = { to: [to], subject: `${word()} ${word()}`, body, priority: 2 };
  const started = cpuMs();
  const flows = flowOf(state, args);
  checks.push(cpuMs() - started);
  if (flows.some(({ argument }) => argument === 'to[0]')) found += 1;
  else if (call % 4 === 0) throw new Error('a value from the data was not found');
}
if (found !== Math.ceil(calls / 4)) throw new Error('a value that nobody wrote was found');
const { suspicious, foreign, sources } = state;
console.log(`run of ${results} results of ${length} characters, ${share * 100} % suspicious`);
console.log(`check of a call, CPU: ${summary(checks)}`);
console.log(`adding a result, CPU: ${summary(times)}`);
console.log(`memory: ${globalThis.gc === undefined ? 'start node with --expose-gc' : `${memory.toFixed(2)} MB`}`);
console.log(`values ${foreign.size}, suspicious values and words ${suspicious.size}, sources ${sources.size}`);
