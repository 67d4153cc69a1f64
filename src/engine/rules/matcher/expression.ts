import type { PatternNode } from '../pattern/pattern-node.js';
import { type CharClass, charClass } from './char-class.js';

/** A pattern whose flags, classes and edges are resolved. */
export type Expression =
  | { readonly kind: 'empty' }
  /** UTF-16 code units. */
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'class'; readonly of: CharClass }
  | { readonly kind: 'edge'; readonly edge: Edge }
  | { readonly kind: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly kind: 'choice'; readonly options: readonly Expression[] }
  | {
      readonly kind: 'repeat';
      readonly of: Expression;
      readonly min: number;
      readonly max: number;
      readonly lazy: boolean;
    };

export type Edge = 'textStart' | 'textEnd' | 'lineStart' | 'lineEnd' | 'word' | 'noWord';

/** Inline flags of RE2 that are on. */
type Flags = Readonly<Record<'i' | 'm' | 's' | 'U', boolean>>;

const NO_FLAGS: Flags = { i: false, m: false, s: false, U: false };
const NO_LINE_FEED = charClass([{ low: 10, high: 10 }], true, false);
const ANY = charClass([], true, false);
export const EMPTY: Expression = { kind: 'empty' };

/** Resolves the flags, classes and edges of a syntax tree. @throws PatternError */
export function toExpression(root: PatternNode): Expression {
  let flags = NO_FLAGS;
  const visit = (node: PatternNode): Expression => {
    switch (node.kind) {
      case 'empty':
        return EMPTY;
      case 'space':
        return { kind: 'text', text: ' ' };
      case 'char':
        return flags.i && hasCase(node.text) ? classOf(node.text) : { kind: 'text', text: node.text };
      case 'dot':
        return { kind: 'class', of: flags.s ? ANY : NO_LINE_FEED };
      case 'class':
        return { kind: 'class', of: charClass(node.items, node.negated, flags.i) };
      case 'edge':
        return { kind: 'edge', edge: toEdge(node.source, flags.m) };
      case 'sequence':
        return joinTexts(node.parts.map(visit));
      case 'choice':
        return { kind: 'choice', options: node.options.map(visit) };
      case 'words':
        return visit(node.of);
      case 'repeat': {
        const { min, max, lazy } = node;
        const of = visit(node.of);
        return max === 0 || of.kind === 'empty' ? EMPTY : { kind: 'repeat', of, min, max, lazy: lazy !== flags.U };
      }
      case 'group': {
        const outside = flags;
        flags = changeFlags(flags, node.flags);
        // A bare `(?i)` holds from here to the end of the group around it.
        if (!node.of) return EMPTY;
        const of = visit(node.of);
        flags = outside;
        return of;
      }
    }
  };
  return visit(root);
}

function changeFlags(flags: Flags, change: string): Flags {
  const [on = '', off = ''] = change.split('-');
  const read = (name: keyof Flags): boolean => !off.includes(name) && (on.includes(name) || flags[name]);
  return { i: read('i'), m: read('m'), s: read('s'), U: read('U') };
}

function toEdge(source: string, isMultiline: boolean): Edge {
  switch (source) {
    case '^':
      return isMultiline ? 'lineStart' : 'textStart';
    case '$':
      return isMultiline ? 'lineEnd' : 'textEnd';
    case '\\A':
      return 'textStart';
    case '\\z':
      return 'textEnd';
    default:
      return source === '\\b' ? 'word' : 'noWord';
  }
}

const hasCase = (text: string): boolean => /\p{Changes_When_Casemapped}/u.test(text);

function classOf(text: string): Expression {
  const point = text.codePointAt(0) as number;
  return { kind: 'class', of: charClass([{ low: point, high: point }], false, true) };
}

/** Makes a sequence in which texts that follow each other are one. */
export function joinTexts(parts: readonly Expression[]): Expression {
  const joined: Expression[] = [];
  for (const part of parts.flatMap((one) => (one.kind === 'sequence' ? one.parts : [one]))) {
    const last = joined.at(-1);
    if (part.kind === 'empty') continue;
    if (part.kind === 'text' && last?.kind === 'text') {
      joined[joined.length - 1] = { kind: 'text', text: last.text + part.text };
    } else joined.push(part);
  }
  if (joined.length === 0) return EMPTY;
  return joined.length === 1 ? (joined[0] as Expression) : { kind: 'sequence', parts: joined };
}
