import { fold } from '../../text/normalize/fold.js';
import type { ClassItem, PatternNode, PatternProblem } from './pattern-node.js';

/** Folds a pattern's literal the way the folded views fold text. */
export function foldLiteral(text: string): string {
  return fold(text).text;
}

/**
 * Brings a pattern's literals to the form that folded views have, so that authors write natural spelling.
 * ASCII capitals are refused rather than folded: they show that the author thought of the raw text.
 */
export function foldPattern(node: PatternNode, report: (problem: PatternProblem) => void): PatternNode {
  const visit = (child: PatternNode): PatternNode => foldPattern(child, report);
  switch (node.kind) {
    case 'char':
      return foldChar(node.text, node.at, report);
    case 'class': {
      const items = node.items.flatMap((item) => foldItem(item, node.at, report));
      return { ...node, items };
    }
    case 'sequence':
      return { kind: 'sequence', parts: joinMarks(node.parts).map(visit) };
    case 'choice':
      return { kind: 'choice', options: node.options.map(visit) };
    case 'repeat':
    case 'words':
      return { ...node, of: visit(node.of) };
    case 'group':
      return node.of ? { ...node, of: visit(node.of) } : node;
    default:
      return node;
  }
}

function foldChar(text: string, at: number, report: (problem: PatternProblem) => void): PatternNode {
  if (/[A-Z]/.test(text)) {
    const lower = text.toLowerCase();
    report({
      code: 'PACK022',
      message: `\`${text}\` never matches: folded views are in lower case.`,
      advice: `Write \`${lower}\`, or set \`views: [raw]\`.`,
      at,
      length: 1,
    });
    return { kind: 'char', text: lower, at };
  }
  if (text.length === 1 && text <= '\x7f') return { kind: 'char', text, at };
  const points = [...foldLiteral(text)];
  const parts = points.map((point): PatternNode => ({ kind: 'char', text: point, at }));
  if (parts.length === 1) return parts[0] as PatternNode;
  return parts.length === 0 ? { kind: 'empty' } : { kind: 'group', of: { kind: 'sequence', parts }, flags: '' };
}

/** A base letter and the marks written after it fold as one (`e` + U+0301 is é). */
function joinMarks(parts: readonly PatternNode[]): readonly PatternNode[] {
  const joined: PatternNode[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.kind === 'char' && /^\p{M}$/u.test(part.text) && last?.kind === 'char') {
      joined[joined.length - 1] = { ...last, text: last.text + part.text };
    } else joined.push(part);
  }
  return joined;
}

function foldItem(item: ClassItem, at: number, report: (problem: PatternProblem) => void): readonly ClassItem[] {
  if ('escape' in item || item.high <= 0x7f) return [item];
  if (item.low === item.high) {
    const points = [...foldLiteral(String.fromCodePoint(item.low))].map((point) => point.codePointAt(0) ?? 0);
    // An ellipsis folds to three full stops; as members of a class they are one.
    if (new Set(points).size > 1) report(unfoldable(item, at));
    return points.slice(0, 1).map((point) => ({ low: point, high: point }));
  }
  // "Any letter of this script" stays what it is; a range of Latin letters would have to become ASCII.
  if (!isLatin(item.low) && !isLatin(item.high)) return [item];
  report(unfoldable(item, at));
  return [item];
}

/** Latin letters outside ASCII, and full-width forms. */
const isLatin = (point: number): boolean =>
  (point >= 0x80 && point < 0x250) || (point >= 0x1e00 && point < 0x1f00) || (point >= 0xff00 && point < 0xfff0);

function unfoldable(item: { readonly low: number; readonly high: number }, at: number): PatternProblem {
  const shown = String.fromCodePoint(item.low) + (item.low === item.high ? '' : `-${String.fromCodePoint(item.high)}`);
  return {
    code: 'PACK025',
    message: `\`${shown}\` in a class changes its length when it is folded.`,
    advice: 'Write the folded letters (é is e, ß is ss), or an alternation instead of a class.',
    at,
    length: 1,
  };
}
