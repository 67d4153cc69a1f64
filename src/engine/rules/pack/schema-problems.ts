import type { z } from 'zod';
import type { PackPlace, PackProblem } from './pack-error.js';

type Issue = z.core.$ZodIssue;

/** Turns zod's issues into pack problems, one a mistake. */
export function schemaProblems(error: z.ZodError, place: Omit<PackPlace, 'path'>): readonly PackProblem[] {
  return error.issues.flatMap((issue) => flatten(issue)).flatMap((issue) => fromIssue(issue, place));
}

/** For a value that may have several shapes, the complaints of the shape that the author seems to have meant. */
function flatten(issue: Issue): readonly Issue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const meant = issue.errors.filter((issues) => issues.length > 0 && issues.every((inner) => inner.path.length > 0));
  const [best] = [...meant].sort((a, b) => depth(b) - depth(a) || a.length - b.length);
  if (!best || best.some((inner) => inner.code === 'unrecognized_keys' || isMissing(inner))) return [issue];
  return best.flatMap((inner) => flatten({ ...inner, path: [...issue.path, ...inner.path] }));
}

const depth = (issues: readonly Issue[]): number => Math.max(...issues.map((issue) => issue.path.length));
const isMissing = (issue: Issue): boolean => issue.code === 'invalid_type' && issue.message.includes('undefined');

function fromIssue(issue: Issue, place: Omit<PackPlace, 'path'>): readonly PackProblem[] {
  const path = issue.path.filter((step): step is string | number => typeof step !== 'symbol');
  const problem = (code: string, message: string, advice: string, where: Partial<PackPlace> = {}): PackProblem => ({
    code,
    message,
    advice,
    place: { ...place, path, ...where },
  });
  if (issue.code === 'unrecognized_keys') {
    const advice = 'Remove it, or see rules/schema.json for the right name.';
    return issue.keys.map((key) =>
      problem('PACK003', `There is no field \`${key}\` here.`, advice, { path: [...path, key], key: true }),
    );
  }
  const name = path.at(-1);
  if (isMissing(issue))
    return [problem('PACK004', `The field \`${name}\` is missing.`, 'Add it.', { path: path.slice(0, -1) })];
  if (issue.code === 'invalid_union' && name === 'match') {
    const advice =
      'Write one of `any: [...]`, `sequence: [[...], [...]]` with `gap`, `all: [[...], [...]]` with `within`.';
    return [problem('PACK005', 'A rule must have exactly one kind of match.', advice)];
  }
  return [problem('PACK002', `\`${name ?? 'This file'}\` is not valid: ${issue.message}.`, 'See rules/schema.json.')];
}
