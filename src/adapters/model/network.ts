import { ModelError } from '../../engine/errors.js';
import type { NetworkInputs } from '../../engine/model/manifest.js';
import type { WindowInput, WindowScore, WindowScorer } from '../../engine/ports.js';

interface Tensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly data: unknown;
}

interface Session {
  run(feeds: Readonly<Record<string, Tensor>>): Promise<Readonly<Record<string, Tensor>>>;
  release(): Promise<void>;
}

/**
 * The part of ONNX Runtime that is used: `onnxruntime-node` and `onnxruntime-web` both have it. In types of its own, since either package
 * may be missing where this one is compiled against.
 */
export interface OnnxRuntime {
  readonly InferenceSession: { create(bytes: Uint8Array, options?: object): Promise<Session> };
  readonly Tensor: new (type: 'int64', data: BigInt64Array, dims: readonly number[]) => Tensor;
}

/** A window whose logit is known, to prove that this machine computes what the training's did. */
export interface GoldenWindow extends WindowInput {
  readonly logit: number;
}

/** Inputs and outputs of a network, and what verifies that it is the right one. */
export interface NetworkShape {
  readonly inputs: NetworkInputs;
  readonly outputs: { readonly logit: string; readonly token_logits?: string | undefined };
  readonly golden: readonly GoldenWindow[];
}

/** A loaded network. One run at a time. */
export interface Network {
  run(window: WindowInput): Promise<WindowScore>;
  close(): Promise<void>;
}

/**
 * Opens a model with its first use; where that fails, the next one tries again, and the circuit breaker keeps the tries apart.
 * `load` rejects with `MODEL_CLOSED` once it is closed.
 */
export function openLazily<T>(
  open: () => Promise<T>,
  end: (opened: T) => Promise<unknown>,
): Pick<WindowScorer, 'warmUp' | 'close'> & { load(): Promise<T> } {
  let opened: Promise<T> | undefined;
  let closed = false;
  async function load(): Promise<T> {
    if (closed) throw new ModelError('MODEL_CLOSED', 'the model was closed');
    opened ??= open().catch((error: unknown) => {
      opened = undefined;
      throw error;
    });
    return opened;
  }
  return {
    load,
    async warmUp() {
      await load();
    },
    async close() {
      if (closed) return;
      closed = true;
      if (opened !== undefined) await end(await opened);
    },
  };
}

/** Option of a session: on x64 without VNNI, sums of int8 weights would saturate, and a logit would be wrong by up to 2.6. */
export const EXACT_SUMS = { extra: { session: { x64quantprecision: '1' } } } as const;

/** Largest distance of a logit from the golden one: builds of the runtime round differently, by 0.03 between 1.23 and 1.30. */
const GOLDEN_TOLERANCE = 0.1;

/**
 * Makes a network of a session, and tries it on the golden windows. Without Node's own modules: `portcullis/web` runs it too.
 *
 * @throws ModelError `MODEL_OUTPUT`, `MODEL_GOLDEN`
 */
export async function startNetwork(runtime: OnnxRuntime, session: Session, spec: NetworkShape): Promise<Network> {
  const integers = (values: BigInt64Array, shape: readonly number[]): Tensor =>
    new runtime.Tensor('int64', values, shape);
  const run = async ({ ids, taskTokens = 0, channel = 0 }: WindowInput): Promise<WindowScore> => {
    const shape = [1, ids.length];
    const { inputs } = spec;
    const feeds = {
      [inputs.ids]: integers(BigInt64Array.from(ids, BigInt), shape),
      [inputs.mask]: integers(new BigInt64Array(ids.length).fill(1n), shape),
      ...(inputs.types && {
        [inputs.types]: integers(new BigInt64Array(ids.length).fill(1n, ids.length - taskTokens), shape),
      }),
      ...(inputs.channel && { [inputs.channel]: integers(BigInt64Array.of(BigInt(channel)), [1]) }),
    };
    const outputs = await session.run(feeds).catch((cause: unknown) => {
      throw new ModelError('MODEL_FAILED', 'the runtime failed on a window', { cause });
    });
    const [logit] = readFloats(outputs[spec.outputs.logit], [1]);
    const tokens = spec.outputs.token_logits;
    const tokenLogits = tokens === undefined ? undefined : readFloats(outputs[tokens], shape);
    return { logit: logit as number, tokenLogits };
  };
  await checkGolden(run, spec.golden);
  return { run, close: () => session.release() };
}

function readFloats(tensor: Tensor | undefined, shape: readonly number[]): readonly number[] {
  if (tensor?.type !== 'float32' || tensor.dims.join() !== shape.join()) {
    throw new ModelError('MODEL_OUTPUT', 'the type or shape of a network output differs from the manifest');
  }
  const values = Array.from(tensor.data as Float32Array);
  if (!values.every(Number.isFinite))
    throw new ModelError('MODEL_OUTPUT', 'the network returned a value that is not a number');
  return values;
}

async function checkGolden(run: Network['run'], golden: readonly GoldenWindow[]): Promise<void> {
  for (const { logit, ...window } of golden) {
    const score = await run(window);
    if (!(Math.abs(score.logit - logit) <= GOLDEN_TOLERANCE)) {
      throw new ModelError('MODEL_GOLDEN', "the network doesn't reproduce its golden values on this machine");
    }
  }
}
