import { type Decision, type Guard, type Point, passes, type ScreenCall } from '../../policy/index.js';
import { isObject } from '../json-value.js';

/** Boundary between two words of a name. */
const WORD_BREAK = /[_\-./:+]+|(?<=[a-z])(?=[A-Z])/g;
const NAME = /^[^\s"]{12,300}$/;

/**
 * The names in a value that could be sentences, with their words apart: within JSON, `ignore_all_instructions` is a name, but a
 * model reads it as an order. Empty where there are none.
 */
function spokenNames(value: unknown): string {
  const found: string[] = [];
  const read = (text: string): void => {
    if (NAME.test(text) && (text.match(WORD_BREAK)?.length ?? 0) >= 2) found.push(text.replace(WORD_BREAK, ' ').trim());
  };
  const visit = (inner: unknown): void => {
    if (typeof inner === 'string') read(inner);
    else if (Array.isArray(inner)) inner.forEach(visit);
    else if (typeof inner === 'object' && inner !== null)
      for (const [name, member] of Object.entries(inner)) {
        read(name);
        visit(member);
      }
  };
  visit(value);
  return found.join('.\n');
}

/** Screens what a server says, or how it describes itself, and the names in it. Gives the same value where nothing changes. */
export async function screenServerValue(
  guard: Guard,
  point: Point,
  value: unknown,
  call?: ScreenCall,
): Promise<Decision<unknown>> {
  const { action, enforcement } = await guard.screen(point, spokenNames(value), { ...call, isApart: true });
  // A name is not redacted: there is no place to put the rest.
  if (enforcement !== undefined && action !== 'report') return { action: 'replace', enforcement };
  const once = withoutRepetition(value);
  let decision = await guard.screen(point, once, call);
  if (once !== value && passes(decision))
    decision = decision.value === once ? { ...decision, value } : await guard.screen(point, value, call);
  return decision.action === 'allow' && enforcement ? { ...decision, action: 'report', enforcement } : decision;
}

/**
 * A result without the structured content that its one text repeats as JSON, as servers write it for clients that read texts
 * alone; else the value itself.
 * @see https://modelcontextprotocol.io/specification/2025-11-25/server/tools#structured-content
 */
function withoutRepetition(value: unknown): unknown {
  if (!isObject(value) || !Array.isArray(value.content) || value.content.length !== 1) return value;
  const { structuredContent, ...rest } = value;
  const [block] = value.content as readonly unknown[];
  if (!isObject(structuredContent) || !isObject(block)) return value;
  const isRepeated = [0, 2].some((indent) => block.text === JSON.stringify(structuredContent, undefined, indent));
  return isRepeated ? rest : value;
}
