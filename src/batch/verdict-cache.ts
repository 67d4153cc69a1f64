/** Answers by text, bounded by the characters it holds; what was asked for last stays longest. */
export interface VerdictCache<Answer> {
  /** The answer for a text, made by `make` when it isn't there; a failed one isn't kept. */
  get(text: string, make: () => Promise<Answer>): { readonly answer: Promise<Answer>; readonly repeated: boolean };
}

/** An entry's own cost besides its text, in characters. */
const ENTRY_COST = 400;

const MAX_CHARACTERS = 8 * 2 ** 20;

/** Makes a cache. A text over a 64th of `maxCharacters` isn't kept. */
export function createVerdictCache<Answer>(maxCharacters: number = MAX_CHARACTERS): VerdictCache<Answer> {
  const entries = new Map<string, Promise<Answer>>();
  let held = 0;

  function drop(text: string): void {
    if (entries.delete(text)) held -= text.length + ENTRY_COST;
  }

  return {
    get(text, make) {
      const known = entries.get(text);
      if (known !== undefined) {
        entries.delete(text);
        entries.set(text, known);
        return { answer: known, repeated: true };
      }
      const answer = make();
      if (text.length > maxCharacters / 64) return { answer, repeated: false };
      entries.set(text, answer);
      held += text.length + ENTRY_COST;
      answer.catch(() => drop(text));
      for (const oldest of entries.keys()) {
        if (held <= maxCharacters) break;
        drop(oldest);
      }
      return { answer, repeated: false };
    },
  };
}
