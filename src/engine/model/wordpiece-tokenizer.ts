import type { TokenizedText, Tokenizer } from '../ports.js';
import { type BertCharacter, readBertCharacter } from './bert-character.js';

/** How the text is made ready, from the model's manifest. Counts in code points. */
export interface TextPreparation {
  /** Of a run of combining marks, this many are read. */
  readonly markRun: number;
  /** A run without ASCII white space or punctuation is cut into pieces of this length. */
  readonly wordRun: number;
  /** Case and accents are kept; absent: they are not. */
  readonly cased?: boolean | undefined;
}

/** Code points that are remembered; the rest of Unicode is worked out each time. */
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
  text: string,
  vocabulary: WordPieceVocabulary,
  preparation: TextPreparation,
  factsOf: (codePoint: number) => CharacterFacts,
): TokenizedText {
  const ids: number[] = [];
  const starts: number[] = [];
  const ends: number[] = [];
  let word = '';
  let codePoints = 0;
  // Where in the text each code unit of the word comes from.
  let froms: number[] = [];
  let tos: number[] = [];
  let marks = 0;
  let run = 0;

  const endWord = (): void => {
    if (word === '') return;
    cutWord(word, codePoints, vocabulary, (id, start, end) => {
      ids.push(id);
      starts.push(froms[start] as number);
      ends.push(tos[end - 1] as number);
    });
    word = '';
    codePoints = 0;
    froms = [];
    tos = [];
  };
  const addPart = (part: string, from: number, to: number): void => {
    word += part;
    codePoints += 1;
    for (let unit = 0; unit < part.length; unit += 1) {
      froms.push(from);
      tos.push(to);
    }
  };

  for (let at = 0; at < text.length; ) {
    const point = wellFormed(text.codePointAt(at) as number);
    const next = at + (point > 0xffff ? 2 : 1);
    const facts = factsOf(point);
    marks = facts.mark ? marks + 1 : 0;
    if (marks <= preparation.markRun) {
      run = facts.endsRun ? 0 : run + 1;
      if (run > preparation.wordRun) {
        endWord();
        run = 1;
      }
      for (let index = 0; index < facts.parts.length; index += 1) {
        const kind = facts.kinds[index];
        if (kind !== 'letter') endWord();
        if (kind !== 'space') addPart(facts.parts[index] as string, at, next);
        if (kind === 'alone') endWord();
      }
    }
    at = next;
  }
  endWord();
  return { ids, starts, ends };
}

function wellFormed(codePoint: number): number {
  return codePoint >= 0xd800 && codePoint <= 0xdfff ? 0xfffd : codePoint;
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

/** Splits a vocabulary, ids by piece. */
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

/**
 * Cuts a word greedily into the longest pieces. Calls `emit` with an id and the piece's code units
 * `[start, end)` of the word: once with the unknown id for the whole word where a part of it isn't known.
 */
function cutWord(
  word: string,
  codePoints: number,
  vocabulary: WordPieceVocabulary,
  emit: (id: number, start: number, end: number) => void,
): void {
  const cuts: number[] = [];
  const ids: number[] = [];
  let start = 0;
  while (start < word.length && codePoints <= vocabulary.longestWord) {
    const pieces = start === 0 ? vocabulary.heads : vocabulary.tails;
    let end = Math.min(word.length, start + vocabulary.longestPiece);
    let id: number | undefined;
    // A cut inside a surrogate pair is never found: the vocabulary is well-formed.
    while (end > start) {
      id = pieces.get(word.slice(start, end));
      if (id !== undefined) break;
      end -= 1;
    }
    if (id === undefined) break;
    ids.push(id);
    cuts.push(end);
    start = end;
  }
  if (start < word.length) {
    emit(vocabulary.unknown, 0, word.length);
    return;
  }
  let from = 0;
  ids.forEach((id, index) => {
    const to = cuts[index] as number;
    emit(id, from, to);
    from = to;
  });
}
