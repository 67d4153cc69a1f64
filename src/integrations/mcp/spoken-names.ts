import type { Decision, Guard, ScreenCall } from '../../policy/index.js';

/** Where one word of a name ends and the next begins. */
const WORD_BREAK = /[_\-./:+]+|(?<=[a-z])(?=[A-Z])/g;
const NAME = /^[^\s"]{12,300}$/;

/**
 * The names in a value that could be sentences, with their words apart: within JSON, `ignore_all_instructions` is a name, but a
 * model reads it as an order. Empty where there are none.
 */
export function spokenNames(value: unknown): string {
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

/** Screens the definition of a tool, prompt or resource, and the names in it. */
export async function screenDefinition(
  guard: Guard,
  value: unknown,
  call: ScreenCall | undefined,
): Promise<Decision<unknown>> {
  const decision = await guard.screen('tool_definition', value, call);
  return decision.enforcement === undefined ? guard.screen('tool_definition', spokenNames(value), call) : decision;
}
