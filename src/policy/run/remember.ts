/** What a run does with texts. Loaded by the first screening of a run: it needs the engine's readings of texts. */
import type { Input } from '../../index.js';
import type { Screened } from '../screener.js';
import { addEntry } from './entries.js';
import { type FoundFlow, flowOf } from './flow.js';
import { type FlowPolicy, isSuspicious } from './flow-policy.js';
import { plainText } from './folded.js';
import type { RunMemory } from './run-memory.js';
import type { Passage } from './run-state.js';

/** An input of a content with its verdict; none where the guard passes on what it could not screen. */
export interface Read {
  readonly input: Input;
  readonly found: Screened | undefined;
}

/** Adds what the user said. The newest of it is what the user asks for. */
export function rememberUser(run: RunMemory, read: readonly Read[], isPast: boolean): void {
  addWords(run);
  const texts = read.map(({ input }) => plainText(input));
  for (const text of texts) addEntry(run.state, { role: 'trusted', text });
  if (!isPast) run.said = texts.find((text) => text !== '') ?? run.said;
}

/** Adds data that the model is shown, with the passages that are suspicious. */
export function rememberData(
  run: RunMemory,
  read: readonly Read[],
  tool: string | undefined,
  policy: FlowPolicy,
): void {
  addWords(run);
  for (const { input, found } of read) {
    const text = plainText(input);
    const suspicious = suspiciousPassages(text, found, policy);
    // A trusted source counts as long as nothing it says is suspicious.
    const isTrusted = suspicious.length === 0 && tool !== undefined && policy.trusted.includes(tool);
    if (isTrusted) addEntry(run.state, { role: 'trusted', text });
    else addEntry(run.state, { role: 'untrusted', text, tool, evidenceId: found?.verdict.evidence_id, suspicious });
  }
}

/** Adds the arguments of a call that is made. */
export function rememberCall(run: RunMemory, inputs: readonly Input[]): void {
  for (const input of inputs) addEntry(run.state, { role: 'call', text: plainText(input) });
}

/** The flows into the arguments of a call. */
export function flowsInto(run: RunMemory, args: unknown, policy: FlowPolicy): readonly FoundFlow[] {
  addWords(run);
  return flowOf(run.state, args, policy.trusted);
}

function addWords(run: RunMemory): void {
  for (const text of run.words) addEntry(run.state, { role: 'trusted', text });
  run.words.clear();
}

function suspiciousPassages(text: string, found: Screened | undefined, policy: FlowPolicy): readonly Passage[] {
  if (found === undefined || !isSuspicious(found, policy)) return [];
  const { score } = found.verdict;
  const windows = found.windows.filter(({ probability }) => probability >= Math.min(score, policy.suspicionAt));
  const whole = { start: 0, end: text.length, probability: score };
  return windows.length === 0 ? [whole] : windows.map(({ span, probability }) => ({ ...span, probability }));
}
