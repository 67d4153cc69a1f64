import { JsonNumber } from '../../engine/canonical-json.js';
import { type Input, inputText, JsonText } from '../../engine/input.js';
import { isReadLater, readContent } from '../content.js';
import { isContainer, MAX_DEPTH } from '../redact.js';
import { domainsOf, findOrigin, hostKey, valueKey } from './entries.js';
import { parsedJson } from './pieces/prose.js';
import type { Origin, RunState, Value, ValueKind } from './run-state.js';
import { UNNAMED } from './tool-name.js';
import { foldedViews } from './values/folded.js';
import { type Leaf, splitValues } from './values/split-values.js';
import { asciiHost, formsOf } from './values/value-forms.js';
import { placedValues, wordsIn } from './values/values.js';

/** A value in a call's arguments that stood first in untrusted data and was never given in trusted words. Contains no screened text. */
export interface Flow {
  /**
   * JSON path in the arguments, such as `recipients[0]`, or two of them where a value is split over both. `[?]` in it stands for
   * names that are no identifiers.
   */
  readonly argument: string;
  readonly kind: ValueKind;
  /** `suspicious`: from a passage above the suspicion threshold. `foreign`: from any other untrusted data. */
  readonly level: 'suspicious' | 'foreign';
  readonly source: Origin;
}

/** A flow with the text that carries the value. */
export interface FoundFlow extends Flow {
  readonly text: string;
}

/** Leaves of a call that are read; all beyond them are read as one. */
const MAX_LEAVES = 1_000;
/** Values that a person is asked about at most: what isn't seen would be permitted, too. */
export const MAX_ASKED = 20;

/**
 * The flows into the arguments of a call, one for each value; words of one source in one argument are one. Of one kind from one
 * source in one argument there are as many as nobody is asked about any more. Linear in the arguments. `asked` gets the digests
 * that the state was asked for.
 */
export function flowOf(
  state: RunState,
  args: unknown,
  trustedHosts: readonly string[] = [],
  asked: Set<number> = new Set(),
): readonly FoundFlow[] {
  const found = new Map<string, Map<string, FoundFlow>>();
  const carriers = new Set<string>();
  const domains = trustedHosts.map(asciiHost);

  function add(path: string, kind: ValueKind, value: string, source: Origin, text: string): void {
    const level = source.probability === undefined ? 'foreign' : 'suspicious';
    const name = `${path}\0${kind}\0${level}\0${source.evidenceId}\0${source.tool}`;
    const flows = found.get(name) ?? new Map<string, FoundFlow>();
    found.set(name, flows);
    if (!flows.has(value) && flows.size <= MAX_ASKED) flows.set(value, { argument: path, kind, level, source, text });
    carriers.add(path);
  }

  function look(path: string, value: Value, text: string): void {
    const source = valueOrigin(state, value, text, domains, asked);
    if (source !== undefined && source !== 'trusted') add(path, value.kind, value.text, source, text);
  }

  const leaves = leavesOf(args).map(({ path, text }) => {
    const views = foldedViews(text);
    for (const view of views) {
      for (const { value, written } of placedValues(view, text)) look(path, value, written);
      for (const words of wordsIn(view.text)) {
        const source = originOf(state, valueKey(state, words), asked);
        if (source === undefined || source === 'trusted') continue;
        const { start, end } = view.toText(words);
        add(path, 'words', '', source, text.slice(start, end));
      }
    }
    return { path, text: views[0]?.text ?? '' };
  });
  splitValues(leaves, {
    value: look,
    letters(path, kind, letters, text, host) {
      const source = originOf(state, valueKey(state, { kind, text: letters }), asked);
      const isFound = source !== undefined && source !== 'trusted' && !carriers.has(path);
      if (isFound && !isWithin(host, domains)) add(path, kind, letters, source, text);
    },
  });
  return [...found.values()].flatMap((flows) => [...flows.values()]);
}

/** Finds the place of a value by its closest form that is known: of each the user's words count before the data's. */
function valueOrigin(
  state: RunState,
  value: Value,
  text: string,
  trustedHosts: readonly string[],
  asked: Set<number>,
): Origin | 'trusted' | undefined {
  const { texts, hosts } = formsOf(value, text);
  if (hosts[0] !== undefined && isWithin(hosts[0], trustedHosts)) return 'trusted';
  for (const form of texts) {
    const origin = originOf(state, valueKey(state, { kind: value.kind, text: form }), asked);
    if (origin !== undefined) return origin;
  }
  return hostOrigin(state, hosts, asked);
}

/** The user's words come first, then what the model itself wrote, sent or ran; what it only looked up counts less than a suspicion. */
function originOf(state: RunState, key: number, asked: Set<number>): Origin | 'trusted' | undefined {
  asked.add(key);
  const origin = findOrigin(state, key);
  const own = state.own.get(key);
  const isOwn = origin?.probability === undefined ? own !== undefined : own === true;
  return isOwn || state.trusted.has(key) ? 'trusted' : origin;
}

/** Another address at a host from the data, or below it, leads to the same people; not at one that trusted words name. */
function hostOrigin(state: RunState, hosts: readonly string[], asked: Set<number>): Origin | 'trusted' | undefined {
  for (const domain of hosts.flatMap(domainsOf)) {
    const origin = originOf(state, hostKey(state, domain), asked);
    if (origin !== undefined) return origin;
  }
  return undefined;
}

function isWithin(host: string, domains: readonly string[]): boolean {
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

/** The strings and numbers in the arguments of a call, and names that are no identifiers. */
function leavesOf(args: unknown): readonly Leaf[] {
  const leaves: Leaf[] = [];
  const rest: string[] = [];
  const known = new Set<string>();
  const add = (path: string, text: string): void => {
    // What is read by members and as a content says the same twice.
    const leaf = `${path}\0${text}`;
    if (known.has(leaf)) return;
    known.add(leaf);
    if (leaves.length < MAX_LEAVES) leaves.push({ path, text });
    else rest.push(text);
  };
  /** `isRead`: what its members don't show was read with the value around it. */
  const walk = (value: unknown, path: string, depth: number, isRead: boolean): void => {
    if (typeof value === 'string') add(path, value);
    else if (typeof value === 'number' || typeof value === 'bigint') add(path, String(value));
    else if (value instanceof JsonNumber) add(path, value.text);
    else if (depth > MAX_DEPTH) add(path, inputText(value as Input));
    else if (Array.isArray(value))
      for (const [at, item] of value.entries()) walk(item, `${path}[${at}]`, depth + 1, isRead);
    else if (typeof value === 'object' && value !== null) {
      const hasJson = 'toJSON' in value && typeof value.toJSON === 'function';
      const isPlain = isContainer(value) && !hasJson;
      // The members behind a `toJSON`, and those of a stream or promise, may refer to each other without end.
      if (!hasJson && !isReadLater(value)) walkMembers(value, path, depth, isRead || !isPlain);
      if (!isRead && !isPlain) walkContent(value, path, depth);
    }
  };
  const walkMembers = (value: object, path: string, depth: number, isRead: boolean): void => {
    if (ArrayBuffer.isView(value)) return;
    for (const [name, member] of Object.entries(value)) {
      // A name of any other form may be screened text.
      const isIdentifier = /^[A-Za-z_$][\w$-]{0,40}$/.test(name);
      const at = isIdentifier ? (path === '' ? name : `${path}.${name}`) : path + UNNAMED;
      if (!isIdentifier) add(at, name);
      walk(member, at, depth + 1, isRead);
    }
  };
  /** Reads a map, a URL, bytes or an object with a `toJSON` as the guard reads content. */
  const walkContent = (value: object, path: string, depth: number): void => {
    for (const input of readContent(value, true).inputs)
      walk(input instanceof JsonText ? input.toJSON() : input, path, depth + 1, true);
  };
  // Some hosts hand arguments over as JSON text.
  walk(parsedJson(args), '', 0, false);
  if (rest.length > 0) leaves.push({ path: UNNAMED, text: rest.join('\n') });
  return leaves;
}

/** The arguments of a call as it is screened, `{ name, arguments }`. */
export function argumentsOf(input: unknown): unknown {
  const call = input instanceof JsonText ? input.toJSON() : input;
  if (typeof call !== 'object' || call === null || !('arguments' in call)) return call;
  return call.arguments;
}
