const blocked = {
  verdict: 'block',
  confidence: 0.9,
  rule: 'override.ignore-previous',
  reason: 'The text holds a request to drop the instructions given before.',
  rules_version: '1.0.0+0123456789ab',
  evidence_id: 'ev_0123456789abcdef01234567',
  latency_ms: 1,
};
const extended = {
  ...blocked,
  ...{ score: 0.9, threshold: 0.5, decided_by: 'rules', ml_version: 'off', ml_threshold: 0.5, mode: 'rules' },
};
const allowed = { ...extended, verdict: 'allow', confidence: 0.02, score: 0.02, rule: 'none', reason: null };

const error = (text: string, code?: string): Readonly<Record<string, object>> => ({
  example: { value: code === undefined ? { error: text } : { error: text, code } },
});

/** What each status looks like, by name. */
export const answerExamples: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  200: {
    block: { summary: 'Extended form, a block', value: extended },
    allow: { summary: 'Extended form, an allow', value: allowed },
    minimal: { summary: 'Minimal form', value: blocked },
  },
  400: {
    missing: { summary: 'No `input`', value: { error: 'The body lacks `input`.' } },
    malformed: {
      summary: 'Not JSON',
      value: { error: 'The body is not JSON: unexpected character at position 10.' },
    },
    array: {
      summary: 'No object',
      value: { error: 'The body is an array; it must be a JSON object with `input`.' },
    },
  },
  401: error('The API key is not valid.'),
  402: error('The trial has ended; choose a plan to continue.', 'TRIAL_ENDED'),
  408: error('The request did not arrive in time.'),
  413: error('The body is larger than this service reads.'),
  415: error('The body must have `Content-Type: application/json`.'),
  429: error(
    'The calls of this month are used up and no overage credits remain; buy a pack or upgrade the plan.',
    'MONTHLY_LIMIT_REACHED',
  ),
  431: error('The headers are larger than this service reads.'),
  500: error('The analysis failed unexpectedly.'),
  503: error('The service is overloaded; try again in a moment.'),
};
