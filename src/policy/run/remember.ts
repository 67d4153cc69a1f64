/** Reads texts for a run. */
import type { Input } from '../../engine/input.js';
import type { Screened } from '../screener.js';
import type { KnownEffect } from './effects.js';
import { type FlowPolicy, isSuspicious, suspicionOf } from './flow-policy.js';
import { plainText } from './pieces/prose.js';
import type { RunMemory } from './run-memory.js';
import type { Entry, Passage } from './run-state.js';
import type { Effect } from './tool-policy.js';

/** An input of a content with its verdict; none where the guard passes on what it could not screen. */
export interface Read {
  readonly input: Input;
  readonly found: Screened | undefined;
}

/** Adds what the user said. As far as it is allowed, it is what the user asks for. */
export function rememberUser(run: RunMemory, read: readonly Read[]): Promise<void> | undefined {
  const turn = read.find(({ input, found }) => found?.verdict.verdict === 'allow' && plainText(input) !== '');
  const said = turn && run.say(plainText(turn.input));
  const added = add(
    run,
    read.map(({ input }) => trustedEntry(plainText(input))),
  );
  return said === undefined ? added : said.then(() => added);
}

/** Adds data that the model is shown, with the passages that are suspicious. */
export function rememberData(
  run: RunMemory,
  read: readonly Read[],
  tool: string | undefined,
  policy: FlowPolicy,
): Promise<void> | undefined {
  const entries = read.map(({ input, found }) => {
    const text = plainText(input);
    if (found !== undefined) run.texts.set(found.verdict.evidence_id, text);
    return dataEntry(text, found, tool, policy);
  });
  return add(run, entries);
}

export function dataEntry(
  text: string,
  found: Pick<Screened, 'verdict' | 'windows'> | undefined,
  tool: string | undefined,
  policy: FlowPolicy,
): Entry {
  const suspicious = suspiciousPassages(text, found, policy);
  // A trusted source counts as long as nothing it says is suspicious.
  if (suspicious.length === 0 && tool !== undefined && policy.trusted.includes(tool)) return trustedEntry(text);
  return { role: 'untrusted', text, tool, evidenceId: found?.verdict.evidence_id, suspicious };
}

/** Adds the arguments of a call of the model. */
export function rememberCall(
  run: RunMemory,
  inputs: readonly Input[],
  { effect }: Pick<KnownEffect, 'effect'>,
): Promise<void> | undefined {
  return add(
    run,
    inputs.map((input) => callEntry(plainText(input), effect)),
  );
}

export function callEntry(text: string, effect: Effect): Entry {
  return { role: effect === 'read' ? 'lookup' : 'call', text };
}

/** Entries that a brief run lets wait. */
const MAX_PENDING = 2_000;

function add(run: RunMemory, entries: readonly Entry[]): Promise<void> | undefined {
  run.pending.push(...entries);
  if (run.brief !== undefined && run.pending.length <= MAX_PENDING) return undefined;
  // Loaded only now: it needs the engine's readings of texts.
  return import('./run-log.js').then(({ catchUp }) => catchUp(run));
}

/** Words of the operator or the user as an entry of a run. */
export function trustedEntry(text: string): Entry {
  return { role: 'trusted', text };
}

function suspiciousPassages(
  text: string,
  found: Pick<Screened, 'verdict' | 'windows'> | undefined,
  policy: FlowPolicy,
): readonly Passage[] {
  if (found === undefined || !isSuspicious(found, policy)) return [];
  const { score } = found.verdict;
  const least = Math.min(score, suspicionOf(found.verdict, policy));
  const windows = found.windows.filter(({ probability }) => probability >= least);
  const whole = { start: 0, end: text.length, probability: score };
  return windows.length === 0 ? [whole] : windows.map(({ span, probability }) => ({ ...span, probability }));
}
