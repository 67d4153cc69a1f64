import { isReadLater } from './content.js';
import type { Guard } from './guard.js';
import { guardStream } from './guard-stream.js';
import { type Decision, PortcullisBlocked, passes, type ScreenCall } from './policy.js';
import { screenedError } from './screened-error.js';

/**
 * Wraps a tool's function: its arguments are screened before it runs, then its result, or the message of what it throws.
 * For an agent loop of your own; the integrations do the same in the terms of their hosts.
 *
 * The wrapped function throws `PortcullisBlocked` where a call is denied, and for a blocked result that is no string;
 * a blocked string becomes the note. An async iterable, a stream or the body of a `Response` is screened as it comes, see
 * `STREAM_WINDOW`. It throws a TypeError for an iterator, a blob or a request, whose content can't be read here.
 *
 * @example
 * ```ts
 * const readPage = guardFunction(guard, 'read_page', async (url: string) => (await fetch(url)).text());
 * ```
 */
export function guardFunction<A extends readonly unknown[], R>(
  guard: Guard,
  name: string,
  run: (...args: A) => R | Promise<R>,
): (...args: A) => Promise<R> {
  return async (...args) => {
    await allowCall(guard, name, args.length === 1 ? args[0] : args);
    let result: R;
    try {
      result = await run(...args);
    } catch (error) {
      throw await screenedError(guard, error, { tool: name });
    }
    const stream = guardStream(guard, result, { tool: name });
    if (stream !== undefined) return stream as R;
    if (isReadLater(result))
      throw new TypeError(`${name} returned what is read later: return its text, or an async iterable of it`);
    const decision = await guard.screen('tool_result', result, { tool: name });
    if (passes(decision)) return decision.value;
    if (typeof result === 'string' && decision.action === 'replace') return decision.enforcement.note as R;
    throw new PortcullisBlocked(decision.enforcement);
  };
}

/**
 * Screens a call's arguments. `isApproved` says whether a person has allowed a call that the policy asks about.
 *
 * @throws PortcullisBlocked unless they pass
 */
export async function allowCall(
  guard: Pick<Guard, 'screen'>,
  name: string,
  args: unknown,
  call: ScreenCall = {},
  isApproved: () => boolean = () => false,
): Promise<void> {
  const decision = await guard.screen('tool_call', { name, arguments: args ?? null }, { ...call, tool: name });
  if (passes(decision) || (decision.action === 'ask' && isApproved())) return;
  throw new PortcullisBlocked(decision.enforcement);
}

/** Reads and replaces the text of a document. */
export interface DocumentText<D> {
  read(document: D): string;
  write(document: D, text: string): D;
}

/**
 * Screens retrieved documents before they become part of a prompt. Hidden ones are left out; the text of replaced ones is
 * the note.
 *
 * @throws PortcullisBlocked for the action `throw`
 */
export async function guardDocuments<D>(
  guard: Guard,
  documents: readonly D[],
  ...[text]: D extends string ? [text?: DocumentText<D>] : [text: DocumentText<D>]
): Promise<D[]> {
  const read = text?.read ?? ((document: D): string => document as string);
  const write = text?.write ?? ((_: D, value: string): D => value as D);
  const kept = await Promise.all(
    documents.map(async (document): Promise<readonly D[]> => {
      const given = read(document);
      const decision: Decision<string> = await guard.screen('document', given);
      if (decision.action === 'hide') return [];
      const shown = passes(decision) ? decision.value : decision.enforcement.note;
      return [shown === given ? document : write(document, shown)];
    }),
  );
  return kept.flat();
}
