import { visibleText } from '../../engine/text/visible-text.js';
import { inTime } from '../screener.js';
import type { Flow, FoundFlow } from './flow.js';
import type { Effect } from './tool-policy.js';

/** A question to a person: may this call carry these values? An answer counts for this call alone, once. */
export interface FlowQuestion {
  readonly runId: string;
  readonly tool: string | undefined;
  readonly effect: Effect;
  /** The question in words. It quotes the values: show it, don't log it. */
  readonly text: string;
  /** The values with the text that carries them. */
  readonly flows: readonly (Flow & { readonly text: string })[];
  /** Aborts when the question expires: later answers count for nothing. */
  readonly signal: AbortSignal;
}

/** Asks a person; only `true` permits the call. */
export type OnAsk = (question: FlowQuestion) => boolean | Promise<boolean>;

/** Values that a question quotes, and how much of each. */
const MAX_QUOTED = 5;
const QUOTED_LENGTH = 200;
/** Flows of one call that are told: more say no more, and add up in events and evidence. */
const MAX_TOLD = 100;

/**
 * Asks, and waits for an answer until the time is over. False where nobody answers, or the asking fails.
 *
 * @throws the signal's reason
 */
export async function askPerson(
  onAsk: OnAsk,
  asked: Omit<FlowQuestion, 'text' | 'signal'>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  signal?.throwIfAborted();
  const expiry = new AbortController();
  const question: FlowQuestion = Object.freeze({ ...asked, text: questionText(asked), signal: expiry.signal });
  const answer = Promise.resolve().then(() => onAsk(question));
  try {
    return (await inTime(answer, timeoutMs, signal)) === true;
  } catch (error) {
    expiry.abort(error);
    signal?.throwIfAborted();
    return false;
  }
}

function questionText({ tool = 'a tool', effect, flows }: Omit<FlowQuestion, 'text' | 'signal'>): string {
  const values = flows.slice(0, MAX_QUOTED).map(({ text, argument, source }) => {
    const quoted = visibleText(text.slice(0, QUOTED_LENGTH));
    const from = source.tool === undefined ? 'a document' : `the result of ${visibleText(source.tool.slice(0, 64))}`;
    return `“${quoted}” in ${argument}, from ${from}`;
  });
  const more = flows.length > MAX_QUOTED ? `; and ${flows.length - MAX_QUOTED} more` : '';
  return `May ${visibleText(tool.slice(0, 64))} (${effect}) use ${values.join('; ')}${more}? The user never gave this.`;
}

/** The first 100 flows without the texts, as events, enforcements and evidence tell them. */
export function withoutTexts(flows: readonly FoundFlow[]): readonly Flow[] {
  return flows.slice(0, MAX_TOLD).map(({ text: _, ...flow }) => flow);
}
