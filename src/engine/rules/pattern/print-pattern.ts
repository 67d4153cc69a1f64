import type { ClassItem, PatternNode } from './pattern-node.js';

/**
 * The class that a literal space stands for in a folded pattern: white space (folded to ' ' and '\n') and the marks
 * that Markdown, quoting and snake_case put between words, so that emphasis doesn't hide a phrase.
 */
const SEPARATOR = '[ \\n*_~`"\'|>#-]';

/**
 * Writes a syntax tree as RE2 source, without captures. With `separators` a literal space stands for the separator class; patterns that
 * read the raw view have none.
 */
export function printPattern(node: PatternNode, separators: boolean): string {
  const print = (child: PatternNode): string => printPattern(child, separators);
  switch (node.kind) {
    case 'empty':
      return '';
    case 'char':
      return escapeChar(node.text);
    case 'space':
      return separators ? `${SEPARATOR}{1,4}` : ' ';
    case 'dot':
      return '.';
    case 'edge':
      return node.source;
    case 'class':
      return printClass(node.negated, node.items);
    case 'sequence':
      return node.parts.map((part) => (part.kind === 'choice' ? `(?:${print(part)})` : print(part))).join('');
    case 'choice':
      return node.options.map(print).join('|');
    case 'group':
      return node.of ? `(?${node.flags}:${print(node.of)})` : `(?${node.flags})`;
    case 'words':
      return `(?:${print(node.of)})`;
    case 'repeat':
      return `${operand(node.of, separators)}${quantifier(node.min, node.max)}${node.lazy ? '?' : ''}`;
  }
}

function operand(node: PatternNode, separators: boolean): string {
  const source = printPattern(node, separators);
  const single = node.kind === 'char' || node.kind === 'class' || node.kind === 'dot';
  return single || node.kind === 'group' || node.kind === 'words' ? source : `(?:${source})`;
}

function quantifier(min: number, max: number): string {
  if (min === 0 && max === 1) return '?';
  if (max === Number.POSITIVE_INFINITY) return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  return min === max ? `{${min}}` : `{${min},${max}}`;
}

function printClass(negated: boolean, items: readonly ClassItem[]): string {
  const only = items[0];
  if (!negated && items.length === 1 && only && 'escape' in only && !only.escape.startsWith('[:')) return only.escape;
  const body = items.map((item) => {
    if ('escape' in item) return item.escape;
    const low = classChar(item.low);
    return item.low === item.high ? low : `${low}-${classChar(item.high)}`;
  });
  return `[${negated ? '^' : ''}${body.join('')}]`;
}

const classChar = (point: number): string =>
  point < 0x80 && !/[A-Za-z0-9]/.test(String.fromCharCode(point)) ? hex(point) : String.fromCodePoint(point);

function escapeChar(text: string): string {
  const point = text.codePointAt(0) ?? 0;
  if (point < 0x20 || point === 0x7f) return hex(point);
  return /[\\^$.*+?()[\]{}|/]/.test(text) ? `\\${text}` : text;
}

const hex = (point: number): string => `\\x{${point.toString(16)}}`;
