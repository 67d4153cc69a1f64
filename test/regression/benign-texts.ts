import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** An honest text written for this project. */
export interface HonestText {
  readonly id: string;
  readonly kind: string;
  /** BCP 47 */
  readonly language: string;
  readonly text: string;
}

/** Every text of a folder of JSONL files. @throws Error on an id that stands twice */
export function honestTexts(folder: string): readonly HonestText[] {
  const texts = readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').trim().split('\n'))
    .map((line) => JSON.parse(line) as HonestText);
  const ids = new Set(texts.map(({ id }) => id));
  if (ids.size !== texts.length) throw new Error(`${texts.length - ids.size} ids of ${folder} stand twice`);
  return texts;
}
