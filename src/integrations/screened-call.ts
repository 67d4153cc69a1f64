/** Screens what a call shows a model, each part where it stands. */
import { type Enforcement, type Guard, type Point, passes, type ScreenCall } from '../policy/index.js';

export type Members = Readonly<Record<string, unknown>>;

/** The screening of one call. */
export interface CallScreening {
  /** Why the call must not be made, once a part said so. */
  readonly refusal: Enforcement | undefined;
  /** A content whole, as it may be shown: itself, redacted, or in its own shape with the note. */
  content(point: Point, content: unknown, call?: ScreenCall): Promise<unknown>;
  /** An object whose other members are screened as one content, where they say something beside identifiers. */
  others<T extends object>(point: Point, object: T, apart: readonly string[], call?: ScreenCall): Promise<T>;
  /** The tool definitions that may be shown, those in namespaces too. */
  tools(definitions: readonly unknown[]): Promise<readonly unknown[]>;
}

/** Starts the screening of a call. */
export function screenCall(guard: Guard, call: ScreenCall = {}): CallScreening {
  let refusal: Enforcement | undefined;

  async function content(point: Point, given: unknown, more?: ScreenCall): Promise<unknown> {
    const asked = { ...call, ...more };
    const decision = await guard.screen(point, given, asked);
    if (passes(decision)) return decision.value;
    const { action, enforcement } = decision;
    if (action !== 'refuse' && action !== 'stop') return withNote(guard, point, given, enforcement, asked);
    refusal ??= enforcement;
    return enforcement.note;
  }

  async function tools(definitions: readonly unknown[]): Promise<readonly unknown[]> {
    const kept = await Promise.all(definitions.map(shownTool));
    return kept.flat();
  }

  async function shownTool(given: unknown): Promise<readonly unknown[]> {
    if (!isObject(given)) return passes(await guard.screen('tool_definition', given, call)) ? [given] : [];
    // Secrets for the tool's server say nothing to the model.
    const { tools: inner, headers: _, authorization: __, ...definition } = given;
    const { name = given.server_label } = isObject(given.function) ? given.function : given;
    const asked = { ...call, ...(typeof name === 'string' && { tool: name }) };
    if (saysAnything(definition) && !passes(await guard.screen('tool_definition', definition, asked))) return [];
    return [Array.isArray(inner) ? { ...given, tools: await tools(inner) } : given];
  }

  return {
    get refusal() {
      return refusal;
    },
    content,
    async others(point, object, apart, more) {
      const others = Object.entries(object).filter(([name, value]) => !apart.includes(name) && saysAnything(value));
      if (others.length === 0) return object;
      const said = Object.fromEntries(others);
      const shown = await content(point, said, more);
      if (shown === said) return object;
      return { ...object, ...(isObject(shown) ? shown : Object.fromEntries(others.map(([name]) => [name, shown]))) };
    },
    tools,
  };
}

export function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a value has a string that is more than an identifier. */
function saysAnything(value: unknown): boolean {
  if (typeof value === 'string') return !isIdentifier(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(saysAnything);
}

function isIdentifier(text: string): boolean {
  return /^[\w./:+-]{0,40}$/.test(text) || /^[a-z]{1,12}_[A-Za-z0-9]{8,80}$/.test(text);
}

/** Strings of one value that are screened one by one, and levels of it that are read. */
const MAX_STRINGS = 100;

/** A blocked content in its own shape with the note in it, or the note itself where that would still be blocked. */
async function withNote(
  guard: Guard,
  point: Point,
  given: unknown,
  { note, cause }: Enforcement,
  call: ScreenCall,
): Promise<unknown> {
  if (cause !== 'verdict' || !isContainer(given) || stringsIn(given) > MAX_STRINGS) return note;
  const scrubbed = await scrub(guard, point, given, call);
  if (scrubbed !== undefined) return scrubbed;
  const covered = mapStrings(given, (text) => (isIdentifier(text) ? text : note));
  const decision = await guard.screen(point, covered, { ...call, isPast: true });
  return passes(decision) ? decision.value : note;
}

/** A copy whose blocked strings are the note; undefined for a value of too many strings, and where the rest is blocked too. */
export async function scrub(guard: Guard, point: Point, given: unknown, call: ScreenCall): Promise<unknown> {
  if (stringsIn(given) > MAX_STRINGS) return undefined;
  const asked = { ...call, isPast: true };
  const shown = new Map<string, string>();
  mapStrings(given, (text) => {
    if (!isIdentifier(text)) shown.set(text, text);
    return text;
  });
  for (const text of shown.keys()) {
    const decision = await guard.screen(point, text, asked);
    shown.set(text, passes(decision) ? decision.value : decision.enforcement.note);
  }
  const decision = await guard.screen(
    point,
    mapStrings(given, (text) => shown.get(text) ?? text),
    asked,
  );
  return passes(decision) ? decision.value : undefined;
}

/** A copy of a value of plain objects and arrays with other strings. */
function mapStrings(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (!isContainer(value)) return value;
  if (Array.isArray(value)) return value.map((item) => mapStrings(item, change));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapStrings(item, change)]));
}

/** How many strings a value holds; more than `MAX_STRINGS` for one that is nested too deep, which bounds the recursion. */
function stringsIn(value: unknown): number {
  let count = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0 && count <= MAX_STRINGS; depth += 1) {
    if (depth > MAX_STRINGS) return Number.POSITIVE_INFINITY;
    count += level.filter((item) => typeof item === 'string').length;
    level = level.filter(isContainer).flatMap((item) => Object.values(item));
  }
  return count;
}

/** An array or a plain object; a number of many digits is an object of its own. */
function isContainer(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false;
  return Array.isArray(value) || [Object.prototype, null].includes(Object.getPrototypeOf(value));
}
