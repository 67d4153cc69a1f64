import { z } from 'zod';
import { ModelError } from '../../engine/errors.js';
import type { ModelManifest } from '../../engine/model/manifest.js';
import type { Tokenizer } from '../../engine/ports.js';
import type { GoldenWindow } from './onnx-network.js';

/** A text with the values that the training pipeline computed for it. */
const goldenSchema = z.object({ text: z.string(), ids: z.array(z.int()), windows: z.int().min(1), logit: z.number() });

/** Windows that a scoring process tries when it starts, shortest first: a moment, not seconds. */
const MAX_GOLDEN = 6;

/**
 * Reads `golden.jsonl`, checks the tokenizer on every text of it, and gives the windows to try the network on.
 *
 * @throws ModelError `MODEL_GOLDEN` where a line is broken or the tokenizer gives other tokens
 */
export function checkGoldenTokens(
  jsonl: string,
  tokenizer: Tokenizer,
  manifest: ModelManifest,
): readonly GoldenWindow[] {
  const windows: GoldenWindow[] = [];
  jsonl.split('\n').forEach((line, index) => {
    if (line.trim() === '') return;
    const golden = parseGolden(line, index + 1);
    if (tokenizer.tokenize(golden.text).ids.join() !== golden.ids.join()) {
      throw new ModelError('MODEL_GOLDEN', `the tokenizer gives other tokens than line ${index + 1} of golden.jsonl`);
    }
    if (golden.windows > 1) return;
    windows.push({ ids: [manifest.tokenizer.cls, ...golden.ids, manifest.tokenizer.sep], logit: golden.logit });
  });
  return windows.sort((a, b) => a.ids.length - b.ids.length).slice(0, MAX_GOLDEN);
}

function parseGolden(line: string, number: number): z.infer<typeof goldenSchema> {
  try {
    return goldenSchema.parse(JSON.parse(line));
  } catch (cause) {
    throw new ModelError('MODEL_GOLDEN', `line ${number} of golden.jsonl can't be read`, { cause });
  }
}
