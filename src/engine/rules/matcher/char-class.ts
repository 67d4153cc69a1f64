import { PatternError } from '../pattern/pattern-error.js';
import type { ClassItem } from '../pattern/pattern-node.js';

/** The part of a class that a program asks: which ASCII characters are members lies in `Programs.ascii`. */
export interface ProgramClass {
  /** Equal classes have equal keys; `classOfKey` makes the class from it again. */
  readonly key: string;
  /** Whether a code point beyond ASCII is a member. */
  readonly hasBeyond: (point: number) => boolean;
}

/** A set of characters. */
export interface CharClass extends ProgramClass {
  /** By ASCII character: 1 for a member. */
  readonly ascii: Uint8Array;
  /** Whether a character beyond ASCII can be a member. */
  readonly mayBeBeyond: boolean;
}

type Range = Exclude<ClassItem, { readonly escape: string }>;
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

/** Classes remembered, at most: an account's overlay can have a thousand. The core pack has 600. */
const MOST_CLASSES = 2048;

const classes = new Map<string, CharClass>();

/** Makes the class of some items. @throws PatternError when there is no such script or category */
export function charClass(items: readonly ClassItem[], negated: boolean, ignoresCase: boolean): CharClass {
  const key = JSON.stringify([items, negated, ignoresCase]);
  let known = classes.get(key);
  if (!known) {
    known = { key, ...build(items, negated, ignoresCase) };
    if (classes.size === MOST_CLASSES) classes.clear();
    classes.set(key, known);
  }
  return known;
}

/** A class of the core pack, which is made when a text first needs it: most texts need few. */
export function classOfKey(key: string): ProgramClass {
  let known: CharClass | undefined;
  return {
    key,
    hasBeyond(point) {
      known ??= charClass(...(JSON.parse(key) as Parameters<typeof charClass>));
      return known.hasBeyond(point);
    },
  };
}

function build(items: readonly ClassItem[], negated: boolean, ignoresCase: boolean): Omit<CharClass, 'key'> {
  const isPlain = (item: ClassItem): item is Range => !ignoresCase && !('escape' in item);
  const ranges = items.filter(isPlain).sort((a, b) => a.low - b.low);
  const others = items.filter((item) => !isPlain(item));
  const isIn = rangesTest(ranges);
  const isOther = others.length === 0 ? () => false : regexTest(others, ignoresCase);
  const isMember: Test = (point) => (isIn(point) || isOther(point)) !== negated;
  const ascii = Uint8Array.from({ length: 128 }, (_, point) => Number(isMember(point)));
  const isAscii = !items.some((item) => reachesBeyondAscii(item, ignoresCase));
  return isAscii
    ? { ascii, mayBeBeyond: negated, hasBeyond: () => negated }
    : { ascii, mayBeBeyond: true, hasBeyond: isMember };
}

function reachesBeyondAscii(item: ClassItem, ignoresCase: boolean): boolean {
  return ignoresCase || ('escape' in item ? !/^(?:\\[dsw]|\[:[^^])/.test(item.escape) : item.high > 0x7f);
}

/** Tells members of ranges, which ascend by their lower ends. */
function rangesTest(ranges: readonly Range[]): Test {
  const lows = Int32Array.from(ranges, ({ low }) => low);
  let reach = -1;
  /** By range, the highest end up to there. */
  const highs = Int32Array.from(ranges, ({ high }) => {
    reach = Math.max(reach, high);
    return reach;
  });
  return (point) => {
    let from = 0;
    let to = lows.length;
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((lows[middle] as number) <= point) from = middle + 1;
      else to = middle;
    }
    return from > 0 && (highs[from - 1] as number) >= point;
  };
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

/** Asks a regular expression about single characters; answers for the Basic Multilingual Plane are remembered: 16 KB. */
function regexTest(items: readonly ClassItem[], ignoresCase: boolean): Test {
  const regex = compileItems(items, ignoresCase);
  const ask: Test = (point) => regex.test(String.fromCodePoint(point));
  const [only] = items;
  // A pattern can have hundreds of single letters.
  if (items.length === 1 && only && 'low' in only && only.low === only.high && only.low > 0x7f) return ask;
  /** Two bits each: known, and a member. */
  let answers: Uint8Array | undefined;
  return (point) => {
    if (point > 0xffff) return ask(point);
    answers ??= new Uint8Array(0x4000);
    const shift = (point & 3) << 1;
    const answer = ((answers[point >> 2] as number) >> shift) & 3;
    if (answer !== 0) return answer === 3;
    const isMember = ask(point);
    answers[point >> 2] = (answers[point >> 2] as number) | ((isMember ? 3 : 1) << shift);
    return isMember;
  };
}

function compileItems(items: readonly ClassItem[], ignoresCase: boolean): RegExp {
  const compileOptions = (options: readonly string[]): RegExp =>
    new RegExp(`^(?:${options.join('|')})$`, ignoresCase ? 'iu' : 'u');
  const escapes = items.flatMap((item) => ('escape' in item ? [item.escape] : []));
  for (const written of escapes) {
    try {
      compileOptions([translateEscape(written)]);
    } catch {
      throw new PatternError(`\`${written}\` names no script or category of Unicode`);
    }
  }
  const ranges = items.map((item) =>
    'escape' in item ? '' : `\\u{${item.low.toString(16)}}-\\u{${item.high.toString(16)}}`,
  );
  return compileOptions([`[${ranges.join('')}]`, ...new Set(escapes.map(translateEscape))]);
}
