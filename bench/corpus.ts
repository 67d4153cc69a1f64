import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Real text to time on, cut into distinct pieces: the same text again would be up to 20 times too fast. */
export interface Corpus {
  readonly name: string;
  /** In UTF-16 code units. */
  readonly length: number;
  /** Up to `most` pieces of exactly `size` code units that share no text with one another. */
  pieces(size: number, most: number): readonly string[];
}

const filesUnder = (folder: string, ending: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.toLowerCase().endsWith(ending))
    .sort()
    .map((name) => join(folder, name));

const isLow = (text: string, at: number): boolean => /[\udc00-\udfff]/.test(text.charAt(at));

/** A fixed shuffle, so that every run times the same pieces and neighbours come from all over the corpus. */
export function shuffled<T>(items: readonly T[]): readonly T[] {
  let state = 0x9e3779b9;
  const keyed = items.map((item) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return { item, key: state };
  });
  return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
}

const corpusOf = (name: string, texts: readonly string[]): Corpus => {
  const whole = [...new Set(texts)].join('\n\n');
  return {
    name,
    length: whole.length,
    pieces(size, most) {
      const found: string[] = [];
      for (let at = 0; at + size + 1 <= whole.length; at += size) {
        const start = isLow(whole, at) ? at + 1 : at;
        const end = isLow(whole, start + size) ? start + size - 1 : start + size;
        found.push(whole.slice(start, end));
      }
      return shuffled(found).slice(0, most);
    },
  };
};

/** The texts of bench/texts, the project's own pages, and every Markdown page of the installed packages. */
export function installedCorpus(): Corpus {
  const files = [
    ...filesUnder('bench/texts', '.txt'),
    ...filesUnder('docs', '.md'),
    ...filesUnder('node_modules', '.md'),
  ];
  return corpusOf(
    'bench/texts, docs and the Markdown pages of node_modules',
    files.map((file) => readFileSync(file, 'utf8')),
  );
}

/** The field `text` of a JSON Lines file. */
export function fileCorpus(file: string): Corpus {
  const rows = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  const texts = rows.map((row) => {
    const value: unknown = JSON.parse(row);
    return typeof value === 'object' && value !== null && 'text' in value ? String(value.text) : '';
  });
  return corpusOf(file.split('/').at(-1) ?? 'file', shuffled(texts));
}

/** As many distinct texts as are asked for: the pieces, and then the first half of one with the second half of another. */
export function mixed(pieces: readonly string[], count: number): readonly string[] {
  const texts = new Set(pieces);
  for (let step = 1; texts.size < count && step < pieces.length; step += 1)
    for (const [at, piece] of pieces.entries()) {
      const other = pieces[(at + step) % pieces.length] as string;
      const half = Math.floor(piece.length / 2);
      texts.add((piece.slice(0, half) + other.slice(half)).toWellFormed());
      if (texts.size >= count) break;
    }
  if (texts.size < count) throw new Error(`the corpus has too few pieces for ${count} texts`);
  return [...texts].slice(0, count);
}
