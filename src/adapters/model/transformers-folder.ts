import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { ModelError } from '../../engine/errors.js';
import { readModelFile } from './model-files.js';

/** What is known of a Hugging Face model folder before anything of it is loaded. */
export interface TransformersFolder {
  readonly folder: string;
  /** `<folder's name>+<first 12 hex digits of the sha256 over its files>`. */
  readonly version: string;
  /** Texts that the tokenizer would take for its special tokens. */
  readonly specialTokens: readonly string[];
}

const tokenizerSchema = z.object({
  added_tokens: z.array(z.object({ content: z.string(), special: z.boolean() })).default([]),
});

/** @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST` */
export async function readTransformersFolder(path: string): Promise<TransformersFolder> {
  const folder = resolve(path);
  const text = (await readModelFile(folder, 'tokenizer.json')).toString('utf8');
  const parsed = tokenizerSchema.safeParse(JSON.parse(text));
  if (!parsed.success) throw new ModelError('MODEL_MANIFEST', "tokenizer.json isn't in Hugging Face's format");
  const digest = createHash('sha256');
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  const names = files.filter((file) => file.isFile()).map((file) => join(file.parentPath, file.name));
  for (const name of names.sort())
    digest.update(
      createHash('sha256')
        .update(await readFile(name))
        .digest(),
    );
  return {
    folder,
    version: `${basename(folder)}+${digest.digest('hex').slice(0, 12)}`,
    specialTokens: parsed.data.added_tokens.filter(({ special }) => special).map(({ content }) => content),
  };
}
