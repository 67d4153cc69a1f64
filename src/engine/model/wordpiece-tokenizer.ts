import type { TokenizedText, Tokenizer } from '../ports.js';
import { codePointRanges } from '../span.js';

/** Preparation of the text, from the model's manifest. Lengths in code points. */
export interface TextPreparation {
  /** Number of combining marks read of one run. */
  readonly markRun: number;
  /** A run without ASCII white space or punctuation is cut into pieces of this length. */
  readonly wordRun: number;
  /** Case and accents are kept; absent: they are not. */
  readonly cased?: boolean | undefined;
}

/** Number of code points whose facts are cached. */
const REMEMBERED = 4096;

const MARK = /^\p{M}$/u;
/** `\t` to `\r`, the space, and ASCII punctuation end a run. */
const RUN_END = /^[\t-\r !-/:-@[-`{-~]$/;

interface CharacterFacts extends BertCharacter {
  readonly mark: boolean;
  readonly endsRun: boolean;
}

/**
 * BERT's WordPiece, cased or uncased, with the preparation of the training pipeline, and with each token's place.
 * Special tokens in the text (`[SEP]`) come out as ordinary ones. Linear in the text's length.
 *
 * @see models/training/MANIFEST.md, "From text to tokens"
 */
export function createWordPieceTokenizer(vocabulary: WordPieceVocabulary, preparation: TextPreparation): Tokenizer {
  const remembered = new Map<number, CharacterFacts>();
  return { tokenize: (text) => tokenize(text, vocabulary, preparation, readFacts) };

  function readFacts(codePoint: number): CharacterFacts {
    const known = remembered.get(codePoint);
    if (known !== undefined) return known;
    const char = String.fromCodePoint(codePoint);
    const facts = {
      ...readBertCharacter(codePoint, preparation.cased),
      mark: MARK.test(char),
      endsRun: RUN_END.test(char),
    };
    if (remembered.size < REMEMBERED) remembered.set(codePoint, facts);
    return facts;
  }
}

function tokenize(
  given: string,
  vocabulary: WordPieceVocabulary,
  preparation: TextPreparation,
  factsOf: (codePoint: number) => CharacterFacts,
): TokenizedText {
  const text = given.toWellFormed();
  const words = createWordCutter(vocabulary);
  let marks = 0;
  let run = 0;
  for (let at = 0; at < text.length; ) {
    const point = text.codePointAt(at) as number;
    const next = at + (point > 0xffff ? 2 : 1);
    const { mark, endsRun, parts, kinds } = factsOf(point);
    marks = mark ? marks + 1 : 0;
    if (marks <= preparation.markRun) {
      run = endsRun ? 0 : run + 1;
      if (run > preparation.wordRun) {
        words.end();
        run = 1;
      }
      for (let index = 0; index < parts.length; index += 1) {
        const kind = kinds[index];
        if (kind !== 'letter') words.end();
        if (kind !== 'space') words.add(parts[index] as string, at, next);
        if (kind === 'alone') words.end();
      }
    }
    at = next;
  }
  words.end();
  return words.tokens;
}

/** Gathers the characters of a word with their places in the text; at its end, cuts it into tokens. */
function createWordCutter(vocabulary: WordPieceVocabulary): {
  readonly tokens: TokenizedText;
  readonly add: (part: string, from: number, to: number) => void;
  readonly end: () => void;
} {
  const ids: number[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let word = '';
  let codePoints = 0;
  // Where in the text each code unit of the word comes from.
  let froms: number[] = [];
  let tos: number[] = [];
  return {
    tokens: { ids, starts, ends },
    add(part, from, to) {
      word += part;
      codePoints += 1;
      for (let unit = 0; unit < part.length; unit += 1) {
        froms.push(from);
        tos.push(to);
      }
    },
    end() {
      if (word === '') return;
      for (const { id, start, end } of cutWord(word, codePoints, vocabulary)) {
        ids.push(id);
        starts.push(froms[start] as number);
        ends.push(tos[end - 1] as number);
      }
      word = '';
      codePoints = 0;
      froms = [];
      tos = [];
    },
  };
}

/** The vocabulary of a WordPiece model, split by where in a word a piece may stand. */
export interface WordPieceVocabulary {
  readonly heads: ReadonlyMap<string, number>;
  /** Without their `##`. */
  readonly tails: ReadonlyMap<string, number>;
  readonly unknown: number;
  readonly longestPiece: number;
  /** Longer words, in code points, are unknown as a whole. */
  readonly longestWord: number;
}

const TAIL_PREFIX = '##';

export function splitVocabulary(
  ids: Readonly<Record<string, number>>,
  unknown: number,
  longestWord: number,
): WordPieceVocabulary {
  const heads = new Map<string, number>();
  const tails = new Map<string, number>();
  let longestPiece = 0;
  for (const [piece, id] of Object.entries(ids)) {
    longestPiece = Math.max(longestPiece, piece.length);
    if (piece.startsWith(TAIL_PREFIX)) tails.set(piece.slice(TAIL_PREFIX.length), id);
    else heads.set(piece, id);
  }
  return { heads, tails, unknown, longestPiece, longestWord };
}

/** A token and the code units `[start, end)` of its word. */
interface Piece {
  readonly id: number;
  readonly start: number;
  readonly end: number;
}

/** Cuts a word greedily into the longest pieces; a word with a part that the vocabulary lacks is one unknown token. */
function cutWord(word: string, codePoints: number, vocabulary: WordPieceVocabulary): readonly Piece[] {
  const unknown = [{ id: vocabulary.unknown, start: 0, end: word.length }];
  if (codePoints > vocabulary.longestWord) return unknown;
  const cut: Piece[] = [];
  for (let start = 0; start < word.length; ) {
    const pieces = start === 0 ? vocabulary.heads : vocabulary.tails;
    let end = Math.min(word.length, start + vocabulary.longestPiece);
    // A cut inside a surrogate pair is never found: the vocabulary is well-formed.
    while (end > start && !pieces.has(word.slice(start, end))) end -= 1;
    if (end === start) return unknown;
    cut.push({ id: pieces.get(word.slice(start, end)) as number, start, end });
    start = end;
  }
  return cut;
}

/** One code point as BERT's tokenizer reads it: the parts that it adds to words, and where it ends them. */
interface BertCharacter {
  /** Lower-case code points without accents, or (cased) the code point itself; an empty list where nothing is left. */
  readonly parts: readonly string[];
  /** White space, or what stands alone (punctuation, CJK ideographs), by part. */
  readonly kinds: readonly ('letter' | 'space' | 'alone')[];
}

const SPACE: BertCharacter = { parts: [' '], kinds: ['space'] };
const NOTHING: BertCharacter = { parts: [], kinds: [] };

const CONTROL = /^[\p{Cc}\p{Cf}\p{Co}\p{Cs}]$/u;
const WHITE_SPACE = /^\p{White_Space}$/u;
// Four code points changed their category after Unicode 8; the reference didn't hear of it.
const NONSPACING_MARKS = /(?!\u{111c9})[\p{Mn}\u1734\u{1171e}]/gu;
const PUNCTUATION = /^[\p{P}!-/:-@[-`{-~\u166d\u{111c9}]$/u;

/**
 * Reads one code point. Works on code points alone, as the reference does: `toLowerCase` of a whole text
 * would turn a Greek capital sigma at a word's end into another letter.
 *
 * @param cased keeps case and accents
 * @see BertNormalizer and BertPreTokenizer of Hugging Face's `tokenizers` (Rust)
 */
function readBertCharacter(codePoint: number, cased = false): BertCharacter {
  if (codePoint === 0 || codePoint === 0xfffd) return NOTHING;
  const char = String.fromCodePoint(codePoint);
  if (codePoint === 9 || codePoint === 10 || codePoint === 13) return SPACE;
  // The training tokenizer takes it for a letter although it isn't one.
  if (POST_UNICODE_8.has(codePoint)) return { parts: [cased ? char : char.toLowerCase()], kinds: ['letter'] };
  if (CONTROL.test(char)) return NOTHING;
  if (WHITE_SPACE.test(char)) return SPACE;
  const alone = IDEOGRAPHS.some(([first, last]) => codePoint >= first && codePoint <= last);
  const parts: string[] = [];
  const kinds: ('letter' | 'space' | 'alone')[] = [];
  for (const stripped of cased ? char : char.normalize('NFD').replace(NONSPACING_MARKS, '')) {
    for (const part of cased ? stripped : stripped.toLowerCase()) {
      parts.push(part);
      kinds.push(alone || PUNCTUATION.test(part) ? 'alone' : WHITE_SPACE.test(part) ? 'space' : 'letter');
    }
  }
  return { parts, kinds };
}

/** The blocks that the reference sets apart by spaces. */
const IDEOGRAPHS = codePointRanges(
  '4e00-9fff 3400-4dbf 20000-2a6df 2a700-2b73f 2b740-2b81f 2b920-2ceaf f900-faff 2f800-2fa1f',
);

/**
 * Marks, punctuation and format characters that came after Unicode 8. The training tokenizer's tables
 * end there, so it reads them as letters; so must we. Hexadecimal, found by asking it for every code
 * point (scripts/reference-tokens.py) against Unicode 17.
 */
const RANGES = `
  61d 7fd 890-891 897-89f 8ca-8e2 9fd-9fe a76 afa-aff b55 c04 c3c c77 c84 d00 d3b-d3c d81 eba ece 
  180f 1885-1886 1abf-1add 1ae0-1aeb 1b4e-1b4f 1b7d-1b7f 1df6-1dfb 2e43-2e4f 2e52-2e5d a82c a8c5 a8ff
  a9bd 10d24-10d27 10d69-10d6e 10eab-10ead 10ed0 10efa-10eff 10f46-10f50 10f55-10f59 10f82-10f89 11070
  11073-11074 110c2 110cd 111cf 1123e 11241 1133b 113bb-113c0 113ce 113d0 113d2 113d4-113d5
  113d7-113d8 113e1-113e2 11438-1143f 11442-11444 11446 1144b-1144f 1145a-1145b 1145d-1145e 11660-1166c
  116b9 1182f-11837 11839-1183b 1193b-1193c 1193e 11943-11946 119d4-119d7 119da-119db 119e0 119e2
  11a01-11a0a 11a33-11a38 11a3b-11a47 11a51-11a56 11a59-11a5b 11a8a-11a96 11a98-11a9c 11a9e-11aa2
  11b00-11b09 11b60 11b62-11b64 11b66 11be1 11c30-11c36 11c38-11c3d 11c3f 11c41-11c45 11c70-11c71
  11c92-11ca7 11caa-11cb0 11cb2-11cb3 11cb5-11cb6 11d31-11d36 11d3a 11d3c-11d3d 11d3f-11d45 11d47
  11d90-11d91 11d95 11d97 11ef3-11ef4 11ef7-11ef8 11f00-11f01 11f36-11f3a 11f40 11f42-11f4f 11f5a 11fff
  12ff1-12ff2 13430-13440 13447-13455 1611e-16129 1612d-1612f 16d6d-16d6f 16e97-16e9a 16f4f 16fe2 16fe4
  1cf00-1cf2d 1cf30-1cf46 1e000-1e006 1e008-1e018 1e01b-1e021 1e023-1e024 1e026-1e02a 1e08f 1e130-1e136
  1e2ae 1e2ec-1e2ef 1e4ec-1e4ef 1e5ee-1e5ef 1e5ff 1e6e3 1e6e6 1e6ee-1e6ef 1e6f5 1e944-1e94a 1e95e-1e95f
`;

const POST_UNICODE_8: ReadonlySet<number> = new Set(
  codePointRanges(RANGES).flatMap(([first, last]) =>
    Array.from({ length: last - first + 1 }, (_, index) => first + index),
  ),
);
