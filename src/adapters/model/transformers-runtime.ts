import { ModelError } from '../../engine/errors.js';

/** The little of `@huggingface/transformers` that is used. It is an optional peer, so its own types aren't. */
export interface TransformersRuntime {
  readonly env: { allowRemoteModels: boolean; allowLocalModels: boolean; localModelPath: string };
  readonly AutoTokenizer: { from_pretrained(name: string, options: object): Promise<TransformersTokenizer> };
  readonly AutoModel: { from_pretrained(name: string, options: object): Promise<TransformersModel> };
}

export interface TransformersTokenizer {
  (text: string, options: { readonly truncation: boolean; readonly max_length: number }): object;
  encode(text: string, options: { readonly add_special_tokens: boolean }): readonly number[];
}

export interface TransformersModel {
  (inputs: object): Promise<Readonly<Record<string, TransformersTensor | undefined>>>;
  readonly config: { readonly id2label?: Readonly<Record<string, string>> };
  dispose(): Promise<unknown>;
}

export interface TransformersTensor {
  readonly dims: readonly number[];
  readonly data: ArrayLike<number>;
}

/** @throws ModelError `MODEL_RUNTIME_MISSING` where the optional package isn't there or can't be loaded */
export async function importTransformers(): Promise<TransformersRuntime> {
  // The name in a variable: neither the compiler nor a bundler may look for a package that isn't installed.
  const name = '@huggingface/transformers';
  try {
    return (await import(name)) as TransformersRuntime;
  } catch (cause) {
    throw new ModelError(
      'MODEL_RUNTIME_MISSING',
      "the optional package @huggingface/transformers isn't installed or can't be loaded; `npm install @huggingface/transformers` adds it",
      { cause },
    );
  }
}
