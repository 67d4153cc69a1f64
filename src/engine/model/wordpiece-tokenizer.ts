import type { TokenizedText, Tokenizer } from '../ports.js';
import { type BertCharacter, readBertCharacter } from './bert-character.js';
import { cutWord, type WordPieceVocabulary } from './word-pieces.js';

/** How the text is made ready, from the model's manifest. Counts in code points. */
export interface TextPreparation {
  /** Of a run of combining marks, this many are read. */
  readonly markRun: number;
  /** A run without ASCII white space or punctuation is cut after every so many. */
  readonly wordRun: number;
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
 * BERT's uncased WordPiece with the preparation of the training pipeline, and with each token's place.
 * Special tokens in the text (`[SEP]`) come out as ordinary ones. Linear in the text's length.
 *
 * @see models/training/MANIFEST.md, "From text to tokens"
 */
export function createWordPieceTokenizer(vocabulary: WordPieceVocabulary, preparation: TextPreparation): Tokenizer {
  const remembered = new Map<number, CharacterFacts>();
  return { tokenize: (text) => tokenize(text, vocabulary, preparation, factsOf) };

  function factsOf(codePoint: number): CharacterFacts {
    const known = remembered.get(codePoint);
    if (known !== undefined) return known;
    const char = String.fromCodePoint(codePoint);
    const facts = { ...readBertCharacter(codePoint), mark: MARK.test(char), endsRun: RUN_END.test(char) };
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
