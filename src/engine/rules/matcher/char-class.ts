import { PatternError } from '../pattern/pattern-error.js';
import type { ClassItem } from '../pattern/pattern-node.js';

/** A set of characters. */
export interface CharClass {
  /** Equal classes have equal keys; `readCharClass` makes the class from it again. */
  readonly key: string;
  /** By ASCII character: 1 for a member. */
  readonly ascii: Uint8Array;
  /** Whether a character beyond ASCII can be a member. */
  readonly mayBeBeyond: boolean;
  /** Whether a code point beyond ASCII is a member. */
  readonly hasBeyond: (point: number) => boolean;
}

type Test = (point: number) => boolean;

/** Named classes of ASCII characters, as in RE2. */
const NAMED: Readonly<Record<string, string>> = {
  d: '0-9',
  s: '\\t\\n\\f\\r ',
  w: '0-9A-Za-z_',
  alnum: '0-9A-Za-z',
  alpha: 'A-Za-z',
  ascii: '\\0-\\x7f',
  blank: '\\t ',
  cntrl: '\\0-\\x1f\\x7f',
  digit: '0-9',
  graph: '!-~',
  lower: 'a-z',
  print: ' -~',
  punct: '!-/:-@[-`{-~',
  space: '\\t-\\r ',
  upper: 'A-Z',
  word: '0-9A-Za-z_',
  xdigit: '0-9A-Fa-f',
};

const classes = new Map<string, CharClass>();

/** Makes the class of some items. @throws PatternError when there is no such script or category */
export function charClass(items: readonly ClassItem[], negated: boolean, ignoresCase: boolean): CharClass {
  const key = JSON.stringify([items, negated, ignoresCase]);
  let known = classes.get(key);
  if (!known) {
    known = { key, ...build(items, negated, ignoresCase) };
    classes.set(key, known);
  }
  return known;
}

export function readCharClass(key: string): CharClass {
  return charClass(...(JSON.parse(key) as Parameters<typeof charClass>));
}

function build(items: readonly ClassItem[], negated: boolean, ignoresCase: boolean): Omit<CharClass, 'key'> {
  const tests = items.map((item) => itemTest(item, ignoresCase));
  const beyond = tests.filter((_, index) => reachesBeyondAscii(items[index] as ClassItem, ignoresCase));
  const ascii = Uint8Array.from({ length: 128 }, (_, point) => Number(tests.some((test) => test(point)) !== negated));
  if (beyond.length === 0) return { ascii, mayBeBeyond: negated, hasBeyond: () => negated };
  return { ascii, mayBeBeyond: true, hasBeyond: (point) => beyond.some((test) => test(point)) !== negated };
}

function reachesBeyondAscii(item: ClassItem, ignoresCase: boolean): boolean {
  return ignoresCase || ('escape' in item ? !/^(?:\\[dsw]|\[:[^^])/.test(item.escape) : item.high > 0x7f);
}

function itemTest(item: ClassItem, ignoresCase: boolean): Test {
  if ('escape' in item) return regexTest(translateEscape(item.escape), ignoresCase, item.escape);
  const { low, high } = item;
  if (!ignoresCase) return (point) => point >= low && point <= high;
  return regexTest(`[\\u{${low.toString(16)}}-\\u{${high.toString(16)}}]`, true, '');
}

/** Writes an RE2 escape of a class in JavaScript's syntax. */
function translateEscape(written: string): string {
  const property = /^\\([pP])\{?(\^?)(\w+)\}?$/.exec(written);
  if (property) {
    const [, letter, caret, name = ''] = property;
    const isNegated = (letter === 'P') !== (caret === '^');
    if (name === 'Any') return isNegated ? '[]' : '[^]';
    return `\\${isNegated ? 'P' : 'p'}{${name.length <= 2 ? name : `Script=${name}`}}`;
  }
  const posix = /^\[:(\^?)(\w+):\]$/.exec(written);
  if (posix) return `[${posix[1]}${NAMED[posix[2] ?? '']}]`;
  const letter = written[1] ?? '';
  return `[${letter === letter.toLowerCase() ? '' : '^'}${NAMED[letter.toLowerCase()]}]`;
}

const tests = new Map<string, Test>();

/** Asks a regular expression about single characters; answers for the Basic Multilingual Plane are remembered. */
function regexTest(source: string, ignoresCase: boolean, written: string): Test {
  const key = `${ignoresCase} ${source}`;
  const known = tests.get(key);
  if (known) return known;
  const regex = compileClass(source, ignoresCase, written);
  let answers: Uint8Array | undefined;
  const test: Test = (point) => {
    if (point > 0xffff) return regex.test(String.fromCodePoint(point));
    answers ??= new Uint8Array(0x10000);
    const answer = answers[point];
    if (answer !== 0) return answer === 1;
    const isMember = regex.test(String.fromCharCode(point));
    answers[point] = isMember ? 1 : 2;
    return isMember;
  };
  tests.set(key, test);
  return test;
}

function compileClass(source: string, ignoresCase: boolean, written: string): RegExp {
  try {
    return new RegExp(`^${source}$`, ignoresCase ? 'iu' : 'u');
  } catch {
    throw new PatternError(`\`${written}\` names no script or category of Unicode`);
  }
}
