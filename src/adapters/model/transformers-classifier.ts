import { basename, dirname } from 'node:path';
import { ModelError } from '../../engine/errors.js';
import { DEFAULT_DERIVED } from '../../engine/model/calibration.js';
import { planTextWindows, spread } from '../../engine/model/windows.js';
import type { Classifier, ClassifyOptions, ScoredWindow, TextSpan } from '../../engine/ports.js';
import { EXACT_SUMS, openLazily } from './network.js';
import {
  importTransformers,
  injectionProbability,
  type LabelMeaning,
  neutralText,
  readLabels,
  readTransformersFolder,
  type TransformersFolder,
  type TransformersModel,
  type TransformersRuntime,
  type TransformersTokenizer,
} from './transformers-model.js';

/** Options for reading a Hugging Face text classifier. */
export interface TransformersOptions {
  /**
   * Meaning of each label of the model's `id2label`, e.g. `{ INJECTION: 'injection', SAFE: 'benign' }`.
   * Not needed for a network with one output, which is taken as the logit of "injection".
   */
  readonly labels?: Readonly<Record<string, LabelMeaning>> | undefined;
  /** Probability at or above which the model blocks, by operating point; default `{ balanced: 0.5 }`. */
  readonly thresholds?: Readonly<Record<string, number>> | undefined;
  /** Default `balanced`, or the only one of `thresholds`. */
  readonly operatingPoint?: string | undefined;
  /** Tokens of a window, special ones included. Default 512. */
  readonly windowTokens?: number | undefined;
  /** `probability = sigmoid(scale * logOdds + bias)`; default 1 and 0. Measure them on texts of your own. */
  readonly calibration?: { readonly scale: number; readonly bias: number } | undefined;
  /** The network's output; default `logits`. */
  readonly output?: string | undefined;
  /** One of the folder's networks: `fp32` is `onnx/model.onnx` (default), `q8` is `onnx/model_quantized.onnx`. */
  readonly dtype?: string | undefined;
  /** The module itself, where the caller has imported it already. */
  readonly transformers?: TransformersRuntime | undefined;
}

interface Loaded {
  readonly tokenizer: TransformersTokenizer;
  readonly model: TransformersModel;
  readonly meanings: readonly LabelMeaning[];
}

/** Special tokens that a tokenizer adds around a window, at most. */
const SPECIAL_ROOM = 4;

/**
 * A classifier from a local folder in Hugging Face's layout (`config.json`, `tokenizer.json`,
 * `tokenizer_config.json`, `onnx/model.onnx`), run by `@huggingface/transformers` in this process: a run
 * blocks the event loop. Nothing is fetched from a network. The files are read with the first text or by `warmUp`.
 *
 * @throws ModelError `MODEL_MISSING`, `MODEL_MANIFEST`
 *
 * @example
 * ```ts
 * const model = await loadTransformersClassifier('./prompt-injection-model');
 * const engine = createEngine({ model });
 * ```
 */
export async function loadTransformersClassifier(
  folder: string,
  options: TransformersOptions = {},
): Promise<Classifier> {
  const source = await readTransformersFolder(folder);
  const thresholds = options.thresholds ?? { balanced: 0.5 };
  const { load, ...lifetime } = openLazily(
    () => open(source, options),
    ({ model }) => model.dispose(),
  );
  return {
    info: {
      version: source.version,
      thresholds,
      defaultOperatingPoint: options.operatingPoint ?? Object.keys(thresholds)[0] ?? 'balanced',
    },
    classify: async (texts, limits) => classifyTexts(await load(), source, options, texts, limits),
    ...lifetime,
  };
}

async function open({ folder }: TransformersFolder, options: TransformersOptions): Promise<Loaded> {
  const { env, AutoTokenizer, AutoModel } = options.transformers ?? (await importTransformers());
  env.allowRemoteModels = false;
  env.allowLocalModels = true;
  env.localModelPath = dirname(folder);
  const name = basename(folder);
  try {
    const tokenizer = await AutoTokenizer.from_pretrained(name, { local_files_only: true });
    const model = await AutoModel.from_pretrained(name, {
      local_files_only: true,
      dtype: options.dtype ?? 'fp32',
      session_options: { ...EXACT_SUMS, intraOpNumThreads: 1, enableCpuMemArena: false, enableMemPattern: false },
    });
    return { tokenizer, model, meanings: readLabels(model.config.id2label ?? {}, options.labels) };
  } catch (cause) {
    if (cause instanceof ModelError) throw cause;
    throw new ModelError('MODEL_LOAD', '@huggingface/transformers refused the folder', { cause });
  }
}

async function classifyTexts(
  loaded: Loaded,
  source: TransformersFolder,
  options: TransformersOptions,
  texts: readonly string[],
  { timeoutMs, maxWindows, signal, derivedFrom = texts.length }: ClassifyOptions,
): ReturnType<Classifier['classify']> {
  const deadline = performance.now() + timeoutMs;
  const size = options.windowTokens ?? 512;
  const content = Math.max(1, size - SPECIAL_ROOM);
  const count = (piece: string): number => loaded.tokenizer.encode(piece, { add_special_tokens: false }).length;
  const plan = texts.flatMap((text, index): readonly TextSpan[] =>
    planTextWindows(text, content, Math.floor(content / 4), count).map((span) => ({ text: index, span })),
  );
  const chosen = new Set(spread(plan.length, Math.max(1, maxWindows)));
  const { scale, bias } = options.calibration ?? { scale: 1, bias: 0 };
  const known = new Map<string, number>();
  const windows: ScoredWindow[] = [];
  for (const [index, window] of plan.entries()) {
    if (!chosen.has(index)) continue;
    const text = neutralText(
      (texts[window.text] ?? '').slice(window.span.start, window.span.end),
      source.specialTokens,
    );
    const shift = window.text < derivedFrom ? 0 : DEFAULT_DERIVED;
    const key = `${shift} ${text}`;
    let probability = known.get(key);
    if (probability === undefined) {
      if (signal.aborted || performance.now() >= deadline) {
        throw new ModelError('MODEL_TIMEOUT', 'the deadline passed before every window was scored');
      }
      const outputs = await loaded.model(loaded.tokenizer(text, { truncation: true, max_length: size }));
      probability = injectionProbability(outputs[options.output ?? 'logits'], loaded.meanings, {
        scale,
        bias: bias + shift,
      });
      known.set(key, probability);
    }
    windows.push({ ...window, probability });
  }
  windows.sort((a, b) => b.probability - a.probability);
  return {
    probability: windows[0]?.probability ?? Number.NaN,
    windows,
    hotspots: windows.slice(0, 1).map(({ text, span }) => ({ text, span })),
    unseen: plan.filter((_, index) => !chosen.has(index)),
  };
}
