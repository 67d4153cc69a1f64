/** Something the caller can mend: a file, a field, an option. Never quotes a screened text. */
export class TuningError extends Error {
  override readonly name = 'TuningError';
}
