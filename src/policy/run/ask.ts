import { spelledOut, visibleText } from '../../engine/text/visible-text.js';
import { inTime } from '../screener.js';
import { type Flow, type FoundFlow, MAX_ASKED } from './flow.js';
import type { Effect } from './tool-policy.js';
import { foldedViews } from './values/folded.js';
import { valuesIn } from './values/values.js';

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

/** Characters of a value that a question quotes. */
const QUOTED_LENGTH = 300;

/**
 * Asks, and waits for an answer until the time is over. False where nobody answers, the asking fails, or the values are too many
 * to be shown.
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
  const text = questionText(asked);
  if (text === undefined) return false;
  const expiry = new AbortController();
  const question: FlowQuestion = Object.freeze({ ...asked, text, signal: expiry.signal });
  const answer = Promise.resolve().then(() => onAsk(question));
  try {
    return (await inTime(answer, timeoutMs, signal)) === true;
  } catch (error) {
    expiry.abort(error);
    signal?.throwIfAborted();
    return false;
  }
}

/** The question in words; undefined where the values are too many to be shown. */
export function questionText({
  tool = 'a tool',
  effect,
  flows,
}: Pick<FlowQuestion, 'tool' | 'effect' | 'flows'>): string | undefined {
  const values = quotedValues(flows);
  if (values === undefined) return undefined;
  const said = new Map<string, readonly string[]>();
  for (const [at, { argument, source }] of flows.entries()) {
    const from = source.tool === undefined ? 'a document' : `the result of ${visibleText(source.tool.slice(0, 64))}`;
    const place = `in ${argument}, from ${from}`;
    said.set(place, [...(said.get(place) ?? []), `“${values[at]}”`]);
  }
  const asked = [...said].map(([place, quoted]) => `${quoted.join(', ')} ${place}`);
  return `May ${visibleText(tool.slice(0, 64))} (${effect}) use ${asked.join('; ')}? The user never gave this.`;
}

/** The values as a question quotes them, with the hosts of each whole; undefined where they are too many or too long. */
export function quotedValues(flows: readonly Pick<FoundFlow, 'kind' | 'text'>[]): readonly string[] | undefined {
  const quoted = flows.slice(0, MAX_ASKED + 1).flatMap(({ kind, text }) => {
    if (text.length <= QUOTED_LENGTH) return [quotable(text)];
    const cut = `${text.slice(0, QUOTED_LENGTH)}…`;
    if (kind === 'words') return [quotable(cut)];
    const address = kind === 'url' || kind === 'host' ? `http://${text}` : text;
    const hosts = foldedViews(address).flatMap((view) => valuesIn(view.text).flatMap(({ host }) => host ?? []));
    const to = [...new Set(hosts)].join(', ');
    return to === '' || to.length > QUOTED_LENGTH ? [] : [quotable(`${cut} (${to})`)];
  });
  return flows.length > MAX_ASKED || quoted.length < flows.length ? undefined : quoted;
}

/** A text within the quotation marks of a question, which nothing in it can end. */
function quotable(text: string): string {
  return visibleText(text).replace(/[“”\n\t]/g, spelledOut);
}
