import { type ClassItem, childrenOf, type PatternNode } from './pattern-node.js';

/**
 * The class that a literal space stands for in a folded pattern: white space (folded to ' ' and '\n') and the marks
 * that Markdown, quoting and snake_case put between words, so that emphasis doesn't hide a phrase.
 */
const SEPARATOR = '[ \\n*_~`"\'|>#-]';

export interface PrintOptions {
  /** A literal space means the separator class; false for patterns that read the raw view. */
  readonly separators: boolean;
  /**
   * Gives a pattern that occurs at least wherever the exact one does, with far fewer automaton states: counts lose
   * their upper bound. Only for sets, whose hits are then checked with the exact pattern.
   */
  readonly relaxed: boolean;
  /**
   * Gives a pattern that differs only in taking every character beyond ASCII but two noncharacters for a letter or mark, which
   * compiles far faster: RE2 lays out hundreds of ranges for each copy of `\\pL`.
   */
  readonly wide?: boolean | undefined;
}

/** Writes a syntax tree as RE2 source, without captures. */
export function printPattern(node: PatternNode, options: PrintOptions): string {
  const print = (child: PatternNode): string => printPattern(child, options);
  switch (node.kind) {
    case 'empty':
      return '';
    case 'char':
      return escapeChar(node.text);
    case 'space':
      if (!options.separators) return ' ';
      return options.relaxed ? `${SEPARATOR}+` : `${SEPARATOR}{1,4}`;
    case 'dot':
      return '.';
    case 'edge':
      return node.source;
    case 'class':
      return printClass(
        node.negated,
        options.wide && hasLettersAndMarks(node) ? [...node.items, ...BEYOND_ASCII] : node.items,
      );
    case 'sequence':
      return node.parts.map((part) => (part.kind === 'choice' ? `(?:${print(part)})` : print(part))).join('');
    case 'choice':
      return node.options.map(print).join('|');
    case 'group':
      return node.of ? `(?${node.flags}:${print(node.of)})` : `(?${node.flags})`;
    case 'words':
      return `(?:${print(node.of)})`;
    case 'repeat':
      return `${operand(node.of, options)}${quantifier(node.min, node.max, options.relaxed)}${node.lazy ? '?' : ''}`;
  }
}

function operand(node: PatternNode, options: PrintOptions): string {
  const source = printPattern(node, options);
  const single = node.kind === 'char' || node.kind === 'class' || node.kind === 'dot';
  return single || node.kind === 'group' || node.kind === 'words' ? source : `(?:${source})`;
}

function quantifier(min: number, max: number, relaxed: boolean): string {
  if (min === 0 && max === 1) return '?';
  if (max === Number.POSITIVE_INFINITY || (relaxed && max > 1 && max > min)) {
    return min === 0 ? '*' : min === 1 ? '+' : `{${min},}`;
  }
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

/** Without U+FFFF and U+10FFFF, which stand for what is neither letter nor mark. */
const BEYOND_ASCII: readonly ClassItem[] = [
  { low: 0x80, high: 0xfffe },
  { low: 0x10000, high: 0x10fffe },
];

function hasLettersAndMarks(node: PatternNode): boolean {
  const has = (name: string): boolean =>
    node.kind === 'class' && node.items.some((item) => 'escape' in item && item.escape.replace(/[{}]/g, '') === name);
  return node.kind === 'class' && !node.negated && has('\\pL') && has('\\pM');
}

/** True when a pattern finds the same in a text whose characters beyond ASCII, but letters and marks, are all one other such character. */
export function tellsLettersAlone(node: PatternNode): boolean {
  if (node.kind === 'char') return !OTHERS.test(node.text);
  if (node.kind === 'class') return node.items.every(hasNoOthers);
  return childrenOf(node).every(tellsLettersAlone);
}

/** Neither ASCII nor a letter or mark. */
const OTHERS = /[^\0-\x7f\p{L}\p{M}]/u;

function hasNoOthers(item: ClassItem): boolean {
  if ('escape' in item) return !/^\\p(?!\{?[LM]\b)/i.test(item.escape);
  for (let point = item.low; point <= item.high; point += 1) if (OTHERS.test(String.fromCodePoint(point))) return false;
  return true;
}

const classChar = (point: number): string =>
  point < 0x80 && !/[A-Za-z0-9]/.test(String.fromCharCode(point)) ? hex(point) : String.fromCodePoint(point);

function escapeChar(text: string): string {
  const point = text.codePointAt(0) ?? 0;
  if (point < 0x20 || point === 0x7f) return hex(point);
  return /[\\^$.*+?()[\]{}|/]/.test(text) ? `\\${text}` : text;
}

const hex = (point: number): string => `\\x{${point.toString(16)}}`;
