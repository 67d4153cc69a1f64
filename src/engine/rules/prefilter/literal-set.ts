/** Literals of which every match contains at least one: folded, in lower case, `WORD_BOUNDARY` for a word boundary. */
export type LiteralSet = readonly string[];

/**
 * A position in a match: at most `offset` UTF-16 code units after the match's start or, with `unbounded` segments before
 * it (`\w+` and the like), after the end of the last of these.
 */
export interface Position {
  readonly unbounded: number;
  readonly offset: number;
}

/** A literal set, and the part of the match in which its literal stands. */
export interface PositionedSet {
  readonly literals: LiteralSet;
  readonly from: Position;
  readonly to: Position;
}

/** A literal set of which a match must contain a literal. */
export interface RequiredLiteralSet extends PositionedSet {
  /** Estimated frequency; see `estimateFrequency`. */
  readonly frequency: number;
}

/** One way in which a pattern can match: a match contains a literal of each set, in their order. */
export interface Alternative {
  readonly required: readonly RequiredLiteralSet[];
  readonly end: Position;
}

export const START: Position = { unbounded: 0, offset: 0 };

export function advance(position: Position, further: Position): Position {
  return further.unbounded === 0
    ? { unbounded: position.unbounded, offset: position.offset + further.offset }
    : { unbounded: position.unbounded + further.unbounded, offset: further.offset };
}

/** The longest text from one position to a later one, in UTF-16 code units; infinite across an unbounded segment. */
export function maxDistance(from: Position, to: Position): number {
  return to.unbounded === from.unbounded ? to.offset - from.offset : Number.POSITIVE_INFINITY;
}

/** Stands for `\b` until its neighbours are known: a code point that is no character. */
export const WORD_BOUNDARY = '\uffff';

/** The frequency of a set that nearly every text contains. */
export const TOO_COMMON = 1000;

/** Characters that the alphabet reads as space, and the punctuation that every text is full of. */
const NOISE = /[\p{Cc} "#'*\-_`|~>.,]+/gu;

/** Rare enough to help even alone: a letter that is no word, punctuation that prose seldom has. */
const RARE_ALONE = /^ +[bcdfghj-npqu-z] +$|[+@\\^{}[\]<=&$%]/;
const RARE_FREQUENCY = 2;

/**
 * Estimates how common a set is: the sum over its literals, each letter halving it. A set with a literal of fewer than
 * two letters, digits or rare punctuation marks is too common.
 */
export function estimateFrequency(literals: LiteralSet): number {
  let sum = 0;
  for (const literal of literals) {
    const words = literal.replace(NOISE, ' ').trim();
    const isAscii = !/[^\0-\x7f]/.test(words);
    const size = isAscii ? words.length : 2 * words.length;
    if (size < 2) {
      if (!RARE_ALONE.test(literal)) return TOO_COMMON;
      sum += RARE_FREQUENCY;
    } else if (!isAscii) {
      // Texts in other scripts are rarer, and so are their words.
      sum += 0.1 * 0.5 ** size;
    } else {
      // An ending is far more common than a word that begins with the same letters.
      const ending = literal.startsWith(words) ? 2 : 1;
      sum += COMMON_WORDS.has(words) ? 1 : ending * 0.5 ** size;
    }
  }
  return sum;
}

/** Drops each literal that contains another one of the set: the other occurs whenever it does. */
export function minimize(literals: LiteralSet): LiteralSet {
  const kept: string[] = [];
  for (const literal of [...new Set(literals.map(resolveBoundaries))].sort((a, b) => a.length - b.length)) {
    if (!kept.some((short) => literal.includes(short))) kept.push(literal);
  }
  return kept;
}

/** A word boundary beside an ASCII letter or digit is a space in the alphabet; any other is nothing. */
function resolveBoundaries(literal: string): string {
  return literal
    .replace(/(.?)\uffff+(?=(.?))/gsu, (_, left: string, right: string) =>
      isWordCharacter(left) === isWordCharacter(right) ? left : `${left} `,
    )
    .replace(/ {2,}/g, ' ');
}

const isWordCharacter = (letter: string): boolean => /^[a-z0-9]$/.test(letter);

/** Words that most texts of their language contain: requiring one of them says little. */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  `a about after all also an and any are as at back be because been but by can come could day do does even first for
  from get give go good had has have he her him his how i if in into is it its just know like look make many me may
  more most must my new no not now of on one only or other our out over people read run see set she should so some
  such take than that the their them then there these they think this those time to two up us use used user want was
  way we well were what when where which while who will with work would year yes you your write say said send show
  here each every very per via add text file data name list page please need next start end open help call
  de la le les des et en un une du que qui est dans pour par sur au aux ce se sa son ne pas plus el los las del y por
  con para una su al lo como mas o es der die das und ist den dem von zu mit auf fur im nicht ein eine als auch sich
  an wird aus bei nach oder werden il di che per non si della da sono gli nel het een van op te dat voor niet zijn do
  os uma com nao dos na em`.split(/\s+/),
);
