/** Names of tools and paths of their arguments, as reports and policies write them. */

/** A tool's name as `shownName` gives it. */
export const TOOL_NAME: RegExp = /^(?:[\p{L}\p{N}_./:-]{1,64}|\(a name of \d{1,9} characters\))$/u;

/** A tool's name for a report or a person: one that isn't a plain name is screened text, and is described by its length. */
export function shownName(name: string): string {
  return /^[\p{L}\p{N}_./:-]{1,64}$/u.test(name) ? name : `(a name of ${name.length} characters)`;
}

/** Whether it only describes a name, and so may stand for several tools. */
export function isShortened(name: string): boolean {
  return /^\(a name of \d+ characters\)$/.test(name);
}

/** The name that a policy knows a tool by: the tool's own, where the given one only describes it. */
export function fullName(given: string | undefined, own: unknown): string | undefined {
  return typeof own === 'string' && given === shownName(own) ? own : given;
}

/** Path of an argument with `[*]` for every index. */
export function argumentPath(argument: string): string {
  return argument.replace(/\[\d+\]/g, '[*]');
}

/** Placeholder in a path: a name that is not an identifier, or an argument beyond those that are read one by one. */
export const UNNAMED = '[?]';

/** Whether a path leads to one argument alone, whatever the index. */
export function isOneArgument(argument: string): boolean {
  return !argument.includes(UNNAMED);
}
