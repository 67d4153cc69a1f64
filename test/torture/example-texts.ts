import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

/** The texts of every example of the core pack. */
export function exampleTexts(): readonly string[] {
  const folder = join('rules', 'core');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.yaml'));
  return files.flatMap((name) => {
    const { examples } = (parse(readFileSync(join(folder, name), 'utf8')) ?? {}) as {
      readonly examples?: Readonly<Record<string, readonly { readonly text: string }[] | null>>;
    };
    return Object.values(examples ?? {}).flatMap((list) => (list ?? []).map(({ text }) => text));
  });
}
