import { z } from 'zod';
import { ModelError } from '../../engine/errors.js';
import type { ModelManifest } from '../../engine/model/manifest.js';
import { splitVocabulary } from '../../engine/model/word-pieces.js';
import { createWordPieceTokenizer } from '../../engine/model/wordpiece-tokenizer.js';
import type { Tokenizer } from '../../engine/ports.js';

/** The one kind of `tokenizer.json` that is read: BERT's uncased WordPiece, exactly. */
const schema = z.object({
  normalizer: z.object({
    type: z.literal('BertNormalizer'),
    clean_text: z.literal(true),
    handle_chinese_chars: z.literal(true),
    strip_accents: z.union([z.null(), z.literal(true)]),
    lowercase: z.literal(true),
  }),
  pre_tokenizer: z.object({ type: z.literal('BertPreTokenizer') }),
  model: z.object({
    type: z.literal('WordPiece').optional(),
    unk_token: z.string(),
    continuing_subword_prefix: z.literal('##'),
    max_input_chars_per_word: z.int().min(1),
    vocab: z.record(z.string(), z.int().min(0)),
  }),
});

/**
 * Makes the tokenizer of a `tokenizer.json` in Hugging Face's format.
 *
 * @throws ModelError `MODEL_MANIFEST` for another kind of tokenizer
 */
export function readTokenizer(text: string, manifest: ModelManifest): Tokenizer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new ModelError('MODEL_MANIFEST', 'tokenizer.json is no JSON', { cause });
  }
  const parsed = schema.safeParse(value);
  if (!parsed.success) {
    const where = parsed.error.issues.map(({ path }) => path.join('.')).join(', ');
    throw new ModelError('MODEL_MANIFEST', `tokenizer.json is no uncased WordPiece tokenizer of BERT's kind: ${where}`);
  }
  const { model } = parsed.data;
  if (model.vocab[model.unk_token] !== manifest.tokenizer.unk) {
    throw new ModelError('MODEL_MANIFEST', 'tokenizer.json has another unknown token than the manifest');
  }
  return createWordPieceTokenizer(
    splitVocabulary(model.vocab, manifest.tokenizer.unk, model.max_input_chars_per_word),
    {
      markRun: manifest.text.mark_run,
      wordRun: manifest.text.word_run,
    },
  );
}
