/** Puts the note in the place of what is blocked, so that a content keeps its shape. */
import { type Enforcement, type Guard, type Point, passes, type ScreenCall } from '../policy/index.js';
import { isContainer, mapStrings } from '../policy/redact.js';

/** Strings of one value that are screened one by one. */
const MAX_STRINGS = 100;
/** Levels of a value that are searched for what it says. */
const MAX_LEVELS = 100;

/** A blocked content in its own shape with the note in it, or the note itself where that would still be blocked. */
export async function withNote(
  guard: Pick<Guard, 'screen'>,
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
export async function scrub(
  guard: Pick<Guard, 'screen'>,
  point: Point,
  given: unknown,
  call: ScreenCall,
): Promise<unknown> {
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

/** Counts the strings in a value; infinitely many in one that is nested too deep. */
function stringsIn(value: unknown): number {
  let count = 0;
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0 && count <= MAX_STRINGS; depth += 1) {
    if (depth > MAX_LEVELS) return Number.POSITIVE_INFINITY;
    count += level.filter((item) => typeof item === 'string').length;
    level = level.filter(isContainer).flatMap((item) => Object.values(item));
  }
  return count;
}

/** Whether a value has more than identifiers: another string, bytes or an object of any class. */
export function hasMoreThanIdentifiers(value: unknown, level = 0): boolean {
  if (typeof value === 'string') return !isIdentifier(value);
  if (typeof value !== 'object' || value === null) return false;
  if (!isContainer(value) || level > MAX_LEVELS) return true;
  return Object.values(value).some((inner) => hasMoreThanIdentifiers(inner, level + 1));
}

function isIdentifier(text: string): boolean {
  return /^[\w./:+-]{0,40}$/.test(text) || /^[a-z]{1,12}_[A-Za-z0-9]{8,80}$/.test(text);
}
