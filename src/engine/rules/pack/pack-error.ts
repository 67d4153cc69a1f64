import { PortcullisError } from '../../errors.js';

/** Place of a mistake in a pack: a rule, a word list, or the pack itself, and the path to the value inside it. */
export interface PackPlace {
  readonly in: 'rule' | 'words' | 'pack' | 'overlay';
  /** The rule's id or the list's name; empty for the pack. */
  readonly name: string;
  readonly path: readonly (string | number)[];
  /** True when the field itself is wrong, not its value. */
  readonly key?: boolean | undefined;
  /** Offset and length inside the value, when it is a pattern. UTF-16 code units. */
  readonly at?: number | undefined;
  readonly length?: number | undefined;
}

/** One mistake in a pack. `code` never changes its meaning once released. */
export interface PackProblem {
  readonly code: string;
  readonly message: string;
  /** The text to write instead. */
  readonly advice: string;
  readonly place: PackPlace;
}

/** A mistake in a rule; `path` leads to it inside the rule. */
export function ruleProblem(
  rule: { readonly id: string },
  code: string,
  message: string,
  advice: string,
  path: PackPlace['path'],
): PackProblem {
  return { code, message, advice, place: { in: 'rule', name: rule.id, path } };
}

/** Thrown for a pack that can't be used, with all its mistakes at once. */
export class PackError extends PortcullisError {
  override readonly name = 'PackError';
  readonly code = 'PACK_INVALID';
  readonly problems: readonly PackProblem[];

  constructor(problems: readonly PackProblem[], report?: string) {
    super(report ?? problems.map(describeProblem).join('\n'));
    this.problems = problems;
  }
}

/** Whether a problem lies in the overlay that an account gave, which `OverlayStack.parse` calls by this name, and not below it. */
function isOfAccount({ place }: PackProblem): boolean {
  return place.in === 'overlay' && (place.name === 'overlay' || place.name === '');
}

/** Returns the mistakes in an account's overlay, for who wrote it; undefined for an error of what lies below: that names files. */
export function overlayMistakes(error: unknown): readonly PackProblem[] | undefined {
  return error instanceof PackError && error.problems.every(isOfAccount) ? error.problems : undefined;
}

/** Describes problems of the installation's packs and overlays for the operator's log; undefined where there is none. */
export function installationProblems(error: unknown): readonly string[] | undefined {
  const problems = error instanceof PackError ? error.problems.filter((problem) => !isOfAccount(problem)) : [];
  return problems.length === 0 ? undefined : problems.map(describeProblem);
}

/** Describes a problem in one line, for readers without the file. */
export function describeProblem(problem: PackProblem): string {
  const { place } = problem;
  const where = [place.in, place.name, place.path.join('.')].filter((part) => part !== '').join(' ');
  return `${problem.code} ${where}: ${problem.message} ${problem.advice}`;
}
