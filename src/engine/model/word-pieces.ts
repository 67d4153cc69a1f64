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
export function cutWord(
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
