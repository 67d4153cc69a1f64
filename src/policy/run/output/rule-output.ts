import { cutText, mapStrings } from '../../redact.js';
import { type FlowPolicy, whereFrom } from '../flow-policy.js';
import { catchUp } from '../run-log.js';
import type { RunMemory } from '../run-memory.js';
import { type FoundLeak, type Leak, leaksIn } from './leaks.js';

/** Ruling of a policy on the ways out in what the model wrote. */
export interface OutputRuling {
  readonly action: 'redact' | 'deny' | 'report';
  readonly rule: Leak['rule'];
  readonly reason: string;
  readonly leaks: readonly Leak[];
}

const GRAVITY: readonly Leak['rule'][] = ['output.canary', 'output.carries-values', 'output.foreign-host'];

/** Whether a leak is cut. What the data says may be said, as `flow.foreign` may be sent. */
export function isCut({ isQuoted }: FoundLeak, { foreign }: FlowPolicy): boolean {
  return !isQuoted || foreign !== 'report';
}

/** Applies a policy to ways out; undefined where there are none. */
export function ruleLeaks(
  leaks: readonly FoundLeak[],
  action: OutputRuling['action'],
  flow: FlowPolicy,
): OutputRuling | undefined {
  const cut = leaks.filter((leak) => isCut(leak, flow));
  const counted = cut.length > 0 ? cut : leaks;
  const [first] = [...counted].sort((a, b) => GRAVITY.indexOf(a.rule) - GRAVITY.indexOf(b.rule));
  if (first === undefined) return undefined;
  return {
    action: cut.length > 0 ? action : 'report',
    rule: first.rule,
    reason: leakReason(first),
    leaks: counted.map(({ isQuoted: _, ...leak }) => leak),
  };
}

/** Applies a policy to every string of a value; undefined where none has a way out. */
export async function ruleOutput(
  run: RunMemory,
  value: unknown,
  action: OutputRuling['action'],
  flow: FlowPolicy,
): Promise<(OutputRuling & { redact(noteOf: (rule: string) => string): unknown }) | undefined> {
  await catchUp(run);
  const canaries = [...run.canaries];
  const found = new Map<string, readonly FoundLeak[]>();
  mapStrings(value, (text) => {
    const leaks = leaksIn(run.state, text, flow, canaries);
    if (leaks.length > 0) found.set(text, leaks);
    return text;
  });
  const ruling = ruleLeaks([...found.values()].flat(), action, flow);
  if (ruling === undefined) return undefined;
  return {
    ...ruling,
    redact: (noteOf) =>
      mapStrings(value, (text) => {
        const cuts = (found.get(text) ?? []).filter((leak) => isCut(leak, flow));
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
