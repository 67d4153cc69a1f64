import type { TokenizedText, Tokenizer } from '../ports.js';
import { type BertCharacter, readBertCharacter } from './bert-character.js';

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
