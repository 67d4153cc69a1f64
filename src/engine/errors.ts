/** Base class of this library's errors; wrong arguments are a `TypeError` or `RangeError`. Messages never contain screened text. */
export abstract class PortcullisError extends Error {
  /** Stable; never changes its meaning once released. */
  abstract readonly code: string;
}

/** Returns the `code` of any error as text; empty where it has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Thrown for invalid parts or settings of an engine, with all mistakes at once. */
export class ConfigError extends PortcullisError {
  override readonly name = 'ConfigError';
  readonly code = 'CONFIG_INVALID';
  readonly issues: readonly string[];

  constructor(issues: readonly string[]) {
    super(`the engine can't be built: ${issues.join('; ')}`);
    this.issues = issues;
  }
}

/** Thrown for a value that has no JSON text: `undefined`, a function, or one that contains itself. */
export class InputError extends PortcullisError {
  override readonly name = 'InputError';
  /** `INPUT_MISSING`: it is `undefined`, a function or a symbol. `INPUT_CIRCULAR`: it contains itself. */
  readonly code: 'INPUT_MISSING' | 'INPUT_CIRCULAR';

  constructor(code: 'INPUT_MISSING' | 'INPUT_CIRCULAR') {
    super(code === 'INPUT_MISSING' ? 'the input has no JSON text' : 'the input contains a circular reference');
    this.code = code;
  }
}

/** Reasons why a model gave no probability. */
export type ModelErrorCode =
  /** Its folder or one of its files is missing. */
  | 'MODEL_MISSING'
  /** Its manifest can't be read or doesn't fit the schema. */
  | 'MODEL_MANIFEST'
  /** A file differs from the sha256 in the manifest. */
  | 'MODEL_DIGEST'
  /** The optional package that runs it isn't installed. */
  | 'MODEL_RUNTIME_MISSING'
  /** The runtime refused to load it. */
  | 'MODEL_LOAD'
  /** It loads, but its outputs differ from the golden vectors. */
  | 'MODEL_GOLDEN'
  /** It gave something other than finite numbers of the right shape. */
  | 'MODEL_OUTPUT'
  /** Its child process ended: a crash, a kill, no memory. */
  | 'MODEL_CRASHED'
  /** One window took longer than a run may take; the child was killed. */
  | 'MODEL_HUNG'
  /** It crashed a moment ago and isn't restarted yet. */
  | 'MODEL_RESTARTING'
  /** The deadline passed while it was working or queueing. */
  | 'MODEL_TIMEOUT'
  /** The deadline passed and the classifier did not respond. */
  | 'MODEL_SILENT'
  /** It failed several times in a row; the circuit breaker is open. */
  | 'MODEL_RESTING'
  /** The engine or the classifier was closed. */
  | 'MODEL_CLOSED'
  /** The classifier threw something else. */
  | 'MODEL_FAILED';

/** Thrown when loading a model fails; a failure while screening results in the rules' verdict. */
export class ModelError extends PortcullisError {
  override readonly name = 'ModelError';
  readonly code: ModelErrorCode;

  constructor(code: ModelErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
