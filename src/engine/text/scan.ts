/** The counts of one pass over a text; see `scanFeatures`. */
export interface Scan {
  /** ASCII alone. */
  ascii: boolean;
  /** ASCII whose fold is its lower case. */
  plain: boolean;
  surrogates: boolean;
  /** Where white space or controls stand that the fold changes, in ASCII text. */
  readonly spaces: number[];
  /** Kinds of the signs that occur (see char-kinds). */
  signs: number;
  /** Runs of 16 or more base64 characters (letters and digits among them): start, end, in turn. */
  readonly codeRuns: number[];
  /** Where rows of five or more words of one letter or digit begin; the row under way, and where it began. */
  readonly singleRows: number[];
  single: number;
  singleFrom: number;
  /** One of the rows under way is not empty. */
  rows: boolean;
  /** Longest word of hex digits. */
  hexRun: number;
  /** Longest row of words of two hex digits, of two or three digits, of seven or more binary digits; rows under way. */
  hexPairs: number;
  hexPair: number;
  numbers: number;
  number: number;
  binaries: number;
  binary: number;
  /** Longest word of binary digits. */
  binaryRun: number;
  /** Where words that mix letters and digits begin, and where signs stand that can stand for a letter beside one. */
  readonly leetSpots: number[];
  /** Where rows of three or more words begin that one sign joins. */
  readonly joinedRows: number[];
  /** The last joining sign, its place, and where the word before it began. */
  joiner: number;
  joinerAt: number;
  joinedFrom: number;
  /** A line ends in a hyphen. */
  brokenWords: boolean;
  /** Where words of ASCII letters begin that are 12 or longer. */
  readonly longWords: number[];
  /** Dots and dashes that follow no word. */
  dots: number;
  /** Words met of each cipher tag; undefined when none was. */
  tags: Uint32Array | undefined;
  /** Words of an order to a model run backwards; the rank of the last word and its falls. */
  backwardOrder: boolean;
  rank: number;
  selectors: number;
  tagCharacters: number;
  zeroWidth: number;
  /** Units that the fold changes into others beyond case: invisibles, full-width and mathematical letters, marks. */
  disguised: number;
  braille: number;
  phonetic: number;
}

/** Before the first character. */
export function newScan(): Scan {
  return {
    ascii: true,
    plain: true,
    surrogates: false,
    signs: 0,
    spaces: [],
    codeRuns: [],
    singleRows: [],
    single: 0,
    singleFrom: 0,
    rows: false,
    hexRun: 0,
    hexPairs: 0,
    hexPair: 0,
    numbers: 0,
    number: 0,
    binaries: 0,
    binary: 0,
    binaryRun: 0,
    leetSpots: [],
    joinedRows: [],
    joiner: 0,
    joinerAt: -1,
    joinedFrom: -1,
    brokenWords: false,
    longWords: [],
    dots: 0,
    tags: undefined,
    backwardOrder: false,
    rank: 0,
    selectors: 0,
    tagCharacters: 0,
    zeroWidth: 0,
    disguised: 0,
    braille: 0,
    phonetic: 0,
  };
}
