import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';

const tagsSchema = z.record(z.string(), z.record(z.string(), z.string()));

/** The tags that rules may carry, as `namespace:id`, read from `rules/tags.yaml`. */
export function readTags(): ReadonlySet<string> {
  for (let folder = dirname(fileURLToPath(import.meta.url)); ; folder = dirname(folder)) {
    const path = join(folder, 'rules', 'tags.yaml');
    if (existsSync(path)) {
      const spaces = tagsSchema.parse(parse(readFileSync(path, 'utf8')));
      return new Set(Object.entries(spaces).flatMap(([space, ids]) => Object.keys(ids).map((id) => `${space}:${id}`)));
    }
    if (dirname(folder) === folder) return new Set();
  }
}
