import { cutText, mapStrings } from '../redact.js';
import type { FlowPolicy } from './flow-policy.js';
import { whereFrom } from './flow-policy.js';
import { type FoundLeak, type Leak, leaksIn } from './output.js';
import { catchUp } from './remember.js';
import type { RunMemory } from './run-memory.js';

/** Ruling of a policy on a value that the model wrote. */
export interface OutputRuling {
  readonly action: 'redact' | 'deny' | 'report';
  readonly rule: Leak['rule'];
  readonly reason: string;
  readonly leaks: readonly Leak[];
  /** A copy with a note in the place of each target. */
  redact(noteOf: (rule: string) => string): unknown;
}

const GRAVITY: readonly Leak['rule'][] = ['output.canary', 'output.carries-values', 'output.foreign-host'];

/** Applies a policy to every string of a value; undefined where none has a way out. */
export async function ruleOutput(
  run: RunMemory,
  value: unknown,
  action: OutputRuling['action'],
  flow: FlowPolicy,
): Promise<OutputRuling | undefined> {
  await catchUp(run);
  const canaries = [...run.canaries];
  const found = new Map<string, readonly FoundLeak[]>();
  mapStrings(value, (text) => {
    const leaks = leaksIn(run.state, text, flow, canaries);
    if (leaks.length > 0) found.set(text, leaks);
    return text;
  });
  const all = [...found.values()].flat();
  // What the data says may be said, as `flow.foreign` may be sent.
  const isCut = ({ isQuoted }: FoundLeak): boolean => !isQuoted || flow.foreign !== 'report';
  const counted = all.some(isCut) ? all.filter(isCut) : all;
  const [first] = [...counted].sort((a, b) => GRAVITY.indexOf(a.rule) - GRAVITY.indexOf(b.rule));
  if (first === undefined) return undefined;
  return {
    action: isCut(first) ? action : 'report',
    rule: first.rule,
    reason: leakReason(first),
    leaks: counted.map(({ isQuoted: _, ...leak }) => leak),
    redact: (noteOf) =>
      mapStrings(value, (text) => {
        const cuts = (found.get(text) ?? []).filter(isCut);
        return cutText(
          text,
          cuts.map(({ span, rule }) => ({ ...span, text: noteOf(rule) })),
        );
      }),
  };
}

/** One sentence. Quotes neither the link nor a name that could be screened text. */
function leakReason({ rule, form, span, source }: Leak): string {
  const place = `characters ${span.start} to ${span.end}`;
  if (rule === 'output.canary') return `The output repeats a canary, ${place}.`;
  const from = source === undefined ? '' : ` from ${whereFrom(source)}`;
  const said = rule === 'output.foreign-host' ? `leads to a host${from}` : `carries a value of the conversation${from}`;
  return `The ${form} at ${place} of the output ${said}; the user never gave it.`;
}
