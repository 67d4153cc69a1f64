/** An answer that isn't a verdict: its status, one sentence for the caller, and a code where the contract has one. */
export class HttpError extends Error {
  override readonly name = 'HttpError';
  readonly status: number;
  readonly code: QuotaCode | undefined;

  /** `message` is sent to the caller, so it never holds screened text. */
  constructor(status: number, message: string, code?: QuotaCode) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** Why a plan refuses a call. */
export type QuotaCode = 'TRIAL_ENDED' | 'MONTHLY_LIMIT_REACHED';
