const MOST_TRIGRAMS = 8;
const CJK = '\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}ー';
const cjkRuns = new RegExp(`[${CJK}]{2,}`, 'gu');
const cjkPair = new RegExp(`^[${CJK}]{2}$`, 'u');

/** A text as searches compare it: without regard to case or to the letters around a letter (the Greek final sigma). */
export function foldText(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}

/**
 * The bigrams of the Chinese, Japanese and Korean parts of a folded text, each once, with spaces between: what Lucene's
 * CJKAnalyzer indexes. Two characters are a whole word there, and less than a trigram.
 */
export function cjkBigrams(folded: string): string {
  const pairs = new Set<string>();
  for (const [run] of folded.matchAll(cjkRuns)) {
    let before = '';
    for (const character of run) {
      if (before !== '') pairs.add(before + character);
      before = character;
    }
  }
  return [...pairs].join(' ');
}

/** A list of the search index: the records that have one term. */
export interface SearchTerm {
  readonly table: 'evidence_search' | 'evidence_bigrams';
  readonly match: string;
}

/** Terms that every record with the text has; none for a text that the index can't help with (it is too short). */
export function searchTerms(text: string): readonly SearchTerm[] {
  const folded = foldText(text);
  const points = [...folded];
  if (points.length < 3) return cjkPair.test(folded) ? [{ table: 'evidence_bigrams', match: `"${folded}"` }] : [];
  const all = [...new Set(points.slice(2).map((last, at) => `${points[at]}${points[at + 1]}${last}`))];
  const step = Math.max(1, (all.length - 1) / (MOST_TRIGRAMS - 1));
  // Spread evenly over a long text.
  const some = Array.from({ length: Math.min(all.length, MOST_TRIGRAMS) }, (_, at) => all[Math.round(at * step)] ?? '');
  return some.map((it) => ({ table: 'evidence_search', match: `"${it.replaceAll('"', '""')}"` }));
}
