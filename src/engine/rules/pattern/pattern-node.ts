/** One member of a character class: a range of code points (`low === high` for one), or an escape such as `\d` or `\pL`. */
export type ClassItem = { readonly low: number; readonly high: number } | { readonly escape: string };

/** A pattern's syntax tree. `at` is the node's offset in its own source, in UTF-16 code units. */
export type PatternNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'char'; readonly text: string; readonly at: number }
  | { readonly kind: 'space'; readonly at: number }
  | { readonly kind: 'dot'; readonly at: number }
  | { readonly kind: 'class'; readonly negated: boolean; readonly items: readonly ClassItem[]; readonly at: number }
  | { readonly kind: 'edge'; readonly source: string; readonly at: number }
  | { readonly kind: 'sequence'; readonly parts: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | {
      readonly kind: 'repeat';
      readonly of: PatternNode;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
      readonly at: number;
    }
  /** `flags` are inline ones (`i`, `s`, ...); a bare `(?i)` has no `of`. */
  | { readonly kind: 'group'; readonly of: PatternNode | undefined; readonly flags: string }
  /** `{{name}}`: one of a word list. */
  | { readonly kind: 'words'; readonly name: string; readonly of: PatternNode; readonly at: number };

/** Remembers what was answered of choices: those of word lists are long, and stand in many patterns. */
export function rememberChoices<T>(ask: (node: PatternNode) => T): (node: PatternNode) => T {
  const answers = new WeakMap<PatternNode, { readonly answer: T }>();
  return (node) => {
    if (node.kind !== 'choice') return ask(node);
    const known = answers.get(node) ?? { answer: ask(node) };
    answers.set(node, known);
    return known.answer;
  };
}

export function childrenOf(node: PatternNode): readonly PatternNode[] {
  switch (node.kind) {
    case 'sequence':
      return node.parts;
    case 'choice':
      return node.options;
    case 'repeat':
    case 'words':
      return [node.of];
    case 'group':
      return node.of ? [node.of] : [];
    default:
      return [];
  }
}

/** A mistake in a pattern and its place in the source (UTF-16 code units). */
export interface PatternProblem {
  readonly code: string;
  readonly message: string;
  readonly advice: string;
  readonly at: number;
  readonly length: number;
}
