/** Rules on what may leave with a text that the model wrote. */

import type { Span } from '../../../engine/span.js';
import { keepSpans } from '../../../engine/text/rewrite.js';
import { percentDecoded } from '../../encoded-text.js';
import { domainsOf, findOrigin, hostKey, linkKeys, valueKey } from '../entries.js';
import { flowOf } from '../flow.js';
import type { FlowPolicy } from '../flow-policy.js';
import type { Origin, RunState, ValueKind } from '../run-state.js';
import { type FoldedView, foldedViews } from '../values/folded.js';
import { lettersOf } from '../values/value-forms.js';
import { valuesIn, wordsIn } from '../values/values.js';
import { type Link, linksIn, type UnfinishedLinks, unfinishedLinks } from './links.js';

/** A way out in a text that the model wrote. Contains no screened text. */
export interface Leak {
  readonly rule: 'output.canary' | 'output.carries-values' | 'output.foreign-host';
  /** `image`: loads by itself. `text`: no link. */
  readonly form: 'image' | 'link' | 'text';
  /** In the text, UTF-16 code units. */
  readonly span: Span;
  /** First place of the host or the value; undefined for what the user or the operator gave. */
  readonly source: Origin | undefined;
}

export interface FoundLeak extends Leak {
  /** Repeats a link of the data as it stood there. */
  readonly isQuoted: boolean;
}

/** Values that say something of someone. */
const PRIVATE: ReadonlySet<ValueKind> = new Set<ValueKind>(['email', 'phone', 'account', 'wallet', 'secret', 'words']);
const SENTENCE = /(?:\p{L}{2,20}[\s_+-]{1,3}){3}\p{L}{2}/u;
/** Rows of letters and digits that nobody reads. */
const OPAQUE = /^(?=.*\d)(?=.*[a-z])[\w+/=.~-]{32,}$/i;

/** The ways out in a text that end after `from`, in its order. Linear in the text. */
export function leaksIn(
  state: RunState,
  text: string,
  { trusted }: Pick<FlowPolicy, 'trusted'>,
  canaries: readonly string[] = [],
  from = 0,
): readonly FoundLeak[] {
  const secrets = canaries.map(foldedLetters);
  const leaks = linksIn(text, from).flatMap((link) => leakOf(state, link, trusted, secrets));
  return inOrder([...leaks, ...secretsIn(text, secrets).filter(({ span }) => span.end > from)]);
}

/** The ways out in a text that is still being written. */
export interface UnfinishedLeaks extends Pick<UnfinishedLinks, 'openFrom' | 'isInTag'> {
  readonly leaks: readonly FoundLeak[];
  /** Start of the first one that may turn out to be none. */
  readonly undecidedFrom: number;
}

/**
 * The ways out in a text that is still being written, those that end after `from` alone. What is open counts as if it were
 * shown in the worst way. Whatever follows, the leaks of the whole text that begin before both offsets are these.
 */
export function unfinishedLeaks(
  state: RunState,
  text: string,
  { trusted }: Pick<FlowPolicy, 'trusted'>,
  canaries: readonly string[],
  from: number,
): UnfinishedLeaks {
  const secrets = canaries.map(foldedLetters);
  const { links, openFrom, isInTag } = unfinishedLinks(text, from);
  let undecidedFrom = text.length;
  const leaks = links.flatMap((link): readonly FoundLeak[] => {
    const worst = link.isOpen ? { ...link, isLoaded: true, isPlain: false } : link;
    const found = leakOf(state, worst, trusted, secrets);
    if (link.isOpen && found.length > 0) undecidedFrom = Math.min(undecidedFrom, link.start);
    return found;
  });
  if (secrets.length === 0) return { leaks, undecidedFrom, openFrom, isInTag };
  // What a secret is encoded in may have begun before.
  const start = Math.max(0, from - SECRET_LENGTH);
  const rest = text.slice(start);
  const repeated = secretsIn(rest, secrets).map((leak) => ({
    ...leak,
    span: { start: leak.span.start + start, end: leak.span.end + start },
  }));
  return {
    leaks: inOrder([...leaks, ...repeated.filter(({ span }) => span.end > from)]),
    undecidedFrom,
    isInTag,
    openFrom: Math.min(openFrom, start + secretStart(rest, secrets)),
  };
}

function leakOf(
  state: RunState,
  link: Link,
  trusted: readonly string[],
  secrets: readonly string[],
): readonly FoundLeak[] {
  const { start, end, isLoaded, isPlain } = link;
  const isSecret =
    secrets.length > 0 && secrets.some((secret) => foldedLetters(partsOf(link).join('')).includes(secret));
  const ruled = isSecret ? ({ rule: 'output.canary' } as const) : ruleLink(state, link, trusted);
  if (ruled === undefined) return [];
  const form = isLoaded && !isPlain ? 'image' : 'link';
  return [{ source: undefined, isQuoted: false, ...ruled, form, span: { start, end } }];
}

function inOrder(leaks: readonly FoundLeak[]): readonly FoundLeak[] {
  return [...leaks].sort((a, b) => a.span.start - b.span.start);
}

/** The rule that a link breaks, if any. */
function ruleLink(
  state: RunState,
  link: Link,
  trusted: readonly string[],
): (Pick<FoundLeak, 'rule'> & Partial<FoundLeak>) | undefined {
  const { url, host, isLoaded, isPlain } = link;
  const names = namesOf(host);
  if (names.some((name) => trusted.includes(name)) || isTrusted(state, names)) return undefined;
  const keys = linkKeys(state, link);
  // Other names at a domain of the data may belong to others: they count for what loads by itself.
  const known = [keys.host, ...names.map((name) => hostKey(state, name)), ...(isLoaded ? [keys.domain] : [])];
  const source = url.pathname.startsWith('/') ? firstOrigin(state, known) : undefined;
  const isBare = url.pathname === '/' && url.search === '' && url.hash === '';
  const isQuoted = state.foreign.has(keys.whole) || (isBare && state.foreign.has(keys.host));
  // What the model itself named may be led to, and gets no values.
  const isOwn = names.some((name) => state.own.has(hostKey(state, name)));
  if (isOwn && source?.probability === undefined) {
    const carried = carriedBy(state, link);
    return carried && { rule: 'output.carries-values', source: carried.source ?? source };
  }
  if (source !== undefined && isQuoted) {
    const isSuspicious = source.probability !== undefined;
    if (isPlain && !isSuspicious) return undefined;
    return { rule: 'output.foreign-host', source, isQuoted: !isSuspicious && (!isLoaded || isPlain) };
  }
  const carried = carriedBy(state, link);
  if (carried !== undefined) return { rule: 'output.carries-values', source: carried.source ?? source };
  // In code an image counts as a link does, and a link for what it carries alone.
  return source === undefined || (isPlain && !isLoaded) ? undefined : { rule: 'output.foreign-host', source };
}

/** Whether trusted words name a host, or a domain above it closer than any that stood in a suspicious passage. */
function isTrusted(state: RunState, names: readonly string[]): boolean {
  const keys = names.map((name) => hostKey(state, name));
  const closest = keys.find((key) => state.trusted.has(key) || state.suspicious.has(key));
  return closest !== undefined && state.trusted.has(closest);
}

/** The names of a host: itself, and the domains above it, where it isn't an address. */
function namesOf(host: string): readonly string[] {
  return !host.includes('.') || /^[\d.]+$|^\[/.test(host) ? [host] : domainsOf(host);
}

function firstOrigin(state: RunState, keys: readonly number[]): Origin | undefined {
  for (const key of keys) {
    const origin = findOrigin(state, key);
    if (origin !== undefined) return origin;
  }
  return undefined;
}

/** The first value of the conversation in a link; with its source, where it stood in data. */
function carriedBy(state: RunState, link: Link): { readonly source: Origin | undefined } | undefined {
  const { url } = link;
  const isLoaded = link.isLoaded && !link.isPlain;
  const parts = partsOf(link);
  const isCounted = (kind: ValueKind): boolean => (isLoaded ? kind !== 'host' && kind !== 'url' : PRIVATE.has(kind));
  // A value may be split over the parts.
  const flows = flowOf(state, [...parts, parts.join(' '), [...url.searchParams.values()].join('')]);
  const flow = flows.find(({ kind }) => isCounted(kind));
  if (flow !== undefined) return { source: flow.source };
  const views = foldedViews(parts.join(' '));
  // What the user gave may stand in a link, but nobody has to encode it for that.
  const isRepeated = views
    .filter(({ isDecoded }) => isLoaded || isDecoded)
    .flatMap(({ text }) => [...valuesIn(text), ...wordsIn(text)])
    .some((value) => isCounted(value.kind) && state.trusted.has(valueKey(state, value)));
  return isRepeated || (isLoaded && saysSomething(link, views)) ? { source: undefined } : undefined;
}

/** Whether what loads by itself has a sentence, or something that can't be read, where it names no file. */
function saysSomething({ url, host }: Link, views: readonly FoldedView[]): boolean {
  const said = [...url.searchParams.values(), url.hash.slice(1), ...host.split('.').slice(0, -2)];
  const isSaid = said.some((part) => OPAQUE.test(part) || SENTENCE.test(percentDecoded(part)));
  return isSaid || views.some(({ text, isDecoded }) => isDecoded && wordsIn(text).length > 0);
}

/** All that a link says beside the host that is known, decoded. */
function partsOf({ url, host }: Link): readonly string[] {
  const labels = host.split('.').slice(0, -2);
  const path = url.pathname.startsWith('/') ? url.pathname.split('/') : [];
  const query = [...url.searchParams].flat();
  return [...labels, url.username, url.password, ...path, ...query, url.hash.slice(1)]
    .map(percentDecoded)
    .filter((part) => part !== '');
}

/** A secret as it is compared: its letters and digits, folded. */
function foldedLetters(text: string): string {
  return lettersOf(foldedViews(text)[0]?.text ?? '');
}

const LETTERS = /[\p{L}\p{N}]+/gu;
const AFTER_LETTER = /(?<=[\p{L}\p{N}])/uy;
const BEFORE_LETTER = /(?=[\p{L}\p{N}])/uy;

/** Finds the places where a text repeats a secret, spelled out or encoded. */
function secretsIn(text: string, secrets: readonly string[]): readonly FoundLeak[] {
  if (secrets.length === 0) return [];
  return foldedViews(text).flatMap((view) => {
    const rows = [...view.text.matchAll(LETTERS)].map(({ 0: row, index }) => ({
      start: index,
      end: index + row.length,
    }));
    const letters = keepSpans(view.text, rows, () => '');
    const found: FoundLeak[] = [];
    for (const secret of secrets)
      for (let at = letters.text.indexOf(secret); at >= 0; at = letters.text.indexOf(secret, at + secret.length)) {
        const place = letters.map.toInput({ start: at, end: at + secret.length });
        // Words that happen to have its letters in a row begin or end within one.
        const isWhole =
          !matchesAt(AFTER_LETTER, view.text, place.start) && !matchesAt(BEFORE_LETTER, view.text, place.end);
        if (place.end - place.start > secret.length && !isWhole) continue;
        found.push({
          rule: 'output.canary',
          form: 'text',
          span: view.toText(place),
          source: undefined,
          isQuoted: false,
        });
      }
    return found;
  });
}

/** Characters before what is new in which the encoding of a secret may begin. */
const SECRET_LENGTH = 2_000;

/** Finds the beginning of a secret at the end of a text, spelled out or not; gives the text's length without one. */
function secretStart(text: string, secrets: readonly string[]): number {
  const [view] = foldedViews(text);
  if (view === undefined) return text.length;
  let start = text.length;
  for (const secret of secrets) {
    const wanted = [...secret];
    const signs = [...view.text.matchAll(/[\p{L}\p{N}]/gu)].slice(1 - wanted.length);
    const letters = signs.map(([sign]) => sign).join('');
    for (let count = signs.length; count > 0; count -= 1) {
      if (!letters.endsWith(wanted.slice(0, count).join(''))) continue;
      const at = signs.at(-count)?.index ?? view.text.length;
      start = Math.min(start, view.toText({ start: at, end: view.text.length }).start);
      break;
    }
  }
  return start;
}

function matchesAt(pattern: RegExp, text: string, at: number): boolean {
  pattern.lastIndex = at;
  return pattern.test(text);
}
