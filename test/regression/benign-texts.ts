import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A benign text written for this project. */
export interface BenignText {
  readonly id: string;
  readonly kind: string;
  /** BCP 47 */
  readonly language: string;
  readonly text: string;
}

/** Every text of a folder of JSONL files. @throws Error on a duplicate id */
export function benignTexts(folder: string): readonly BenignText[] {
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as BenignText);
  const ids = new Set(texts.map(({ id }) => id));
  if (ids.size !== texts.length) throw new Error(`${texts.length - ids.size} ids of ${folder} are duplicates`);
  return texts;
}
