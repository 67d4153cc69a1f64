/** Normalisation is quadratic on longer runs of combining marks. @see UAX #15, stream-safe text format */
const MARK_RUNS = /(\p{M}{30})\p{M}+/gu;

/**
 * A text that plays no tricks on a foreign tokenizer: its special tokens in the text are taken apart, so that
 * they are read as text, and of long runs of combining marks 30 stay.
 */
export function neutralText(text: string, specialTokens: readonly string[]): string {
  let result = text.replace(MARK_RUNS, '$1');
  for (const token of specialTokens) {
    if (token.length > 1) result = result.replaceAll(token, `${token.slice(0, 1)} ${token.slice(1)}`);
  }
  return result;
}
