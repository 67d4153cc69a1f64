/** A mistake of the caller's: printed as one line, without a stack, with exit code 2. Never holds screened text. */
export class CliError extends Error {
  override readonly name = 'CliError';
}
