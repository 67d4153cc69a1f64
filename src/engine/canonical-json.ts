import { InputError } from './errors.js';

/** A value that JSON can hold. Members that are `undefined` are left out, as `JSON.stringify` does. */
export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [name: string]: JsonValue | undefined };

/** A number as it stands in a JSON text, where no double has its value: `1e400`, an integer of 20 digits. */
export class JsonNumber {
  /** The number's JSON text. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

interface Frame {
  readonly value: object;
  /** Undefined for an array. */
  readonly names: readonly string[] | undefined;
  readonly length: number;
  index: number;
  first: boolean;
}

/**
 * The one JSON text of a value: no white space, members in order of their names' UTF-16 code units.
 * A loop, not a recursion: depth is bounded by memory, not by the call stack.
 *
 * @throws InputError `INPUT_MISSING`, `INPUT_CIRCULAR`
 * @see RFC 8785, JSON Canonicalization Scheme
 */
export function canonicalJson(value: unknown): string {
  if (isOmitted(value)) throw new InputError('INPUT_MISSING');
  let text = '';
  const stack: Frame[] = [];
  const open = new Set<object>();
  enter(value);
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    if (top.index === top.length) {
      text += top.names === undefined ? ']' : '}';
      open.delete(top.value);
      stack.pop();
      continue;
    }
    const name = top.names?.[top.index];
    const member = (top.value as Record<string | number, unknown>)[name ?? top.index];
    top.index += 1;
    if (name !== undefined && isOmitted(member)) continue;
    if (!top.first) text += ',';
    top.first = false;
    if (name !== undefined) text += `${JSON.stringify(name)}:`;
    enter(isOmitted(member) ? null : member);
  }
  return text;

  function enter(given: unknown): void {
    const item = hasJsonForm(given) ? (given.toJSON() ?? null) : given;
    if (typeof item === 'bigint') {
      text += item.toString();
    } else if (item instanceof JsonNumber) {
      text += item.text;
    } else if (typeof item !== 'object' || item === null) {
      text += JSON.stringify(item);
    } else {
      if (open.has(item)) throw new InputError('INPUT_CIRCULAR');
      open.add(item);
      const names = Array.isArray(item) ? undefined : Object.keys(item).sort();
      text += names === undefined ? '[' : '{';
      stack.push({ value: item, names, length: (names ?? (item as unknown[])).length, index: 0, first: true });
    }
  }
}

function hasJsonForm(value: unknown): value is { toJSON(): unknown } {
  return typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function';
}

/** Whether JSON has no text for a value: a member is left out, an item is null. */
export function isOmitted(value: unknown): boolean {
  return value === undefined || typeof value === 'function' || typeof value === 'symbol';
}
