import { answerExamples } from './answer-examples.js';

interface Answer {
  description?: string;
  content?: Record<string, { examples?: object }>;
  headers?: Record<string, unknown>;
}

interface Document {
  paths?: Record<string, Record<string, { responses?: Record<string, Answer> }>>;
}

const meanings: Readonly<Record<string, string>> = {
  200: 'The verdict.',
  400: 'The body is not JSON, is no object, or lacks `input`.',
  401: 'The API key is missing or not valid.',
  402: 'The trial has ended; an upgrade is needed to continue.',
  408: 'The request did not arrive in time.',
  413: 'The body is larger than this service reads.',
  415: 'The body has another `Content-Type` than `application/json`, is compressed, or is not in UTF-8.',
  429: 'The calls of the month and the overage credits are used up.',
  431: 'The headers are larger than this service reads.',
  500: 'Unexpected failure; retry once with backoff.',
  503: 'Overloaded; the call was not counted.',
};

const text = (description: string, schema: object = { type: 'string' }): object => ({ description, schema });
const count = { type: 'string', pattern: '^[0-9]+$' };

const onAll = { 'Access-Control-Allow-Origin': text('Open to every origin.', { type: 'string', const: '*' }) };

const quota = {
  'RateLimit-Limit': text('Calls a month of the plan.', count),
  'RateLimit-Remaining': text('Calls that are left.', count),
  'RateLimit-Reset': text('Seconds until the month turns (UTC).', count),
};

const score = { type: 'string', pattern: '^(0\\.[0-9]+|1\\.0|n/a)$' };
const modelVerdict = { type: 'string', enum: ['block', 'allow', 'off', 'error'] };

const onVerdicts = {
  'X-SVC-Router-Level': text('Path the request took.', { type: 'string', enum: ['rules', 'advanced', 'deep'] }),
  'X-SVC-Model-Score': text('Model probability, `n/a` when it did not run.', score),
  'X-SVC-Model-Verdict': text('Verdict of the model alone.', modelVerdict),
  'X-SVC-Supav4-Score': { ...text('Until 10 January 2027: as `X-SVC-Model-Score`.', score), deprecated: true },
  'X-SVC-Supav4-Verdict': {
    ...text('Until 10 January 2027: as `X-SVC-Model-Verdict`.', modelVerdict),
    deprecated: true,
  },
  Deprecation: text('Since when the `X-SVC-Supav4-*` headers are deprecated (RFC 9745).'),
  Sunset: text('When they are removed (RFC 8594).'),
};

/** Gives every answer of the document its meaning, its headers and examples, which zod schemas can't say. */
export function describeAnswers<D extends object>(document: D): D {
  for (const item of Object.values((document as Document).paths ?? {})) {
    for (const { responses = {} } of Object.values(item)) {
      for (const [status, answer] of Object.entries(responses)) {
        answer.description = meanings[status] ?? answer.description ?? '';
        for (const media of Object.values(answer.content ?? {})) media.examples = answerExamples[status] ?? {};
        answer.headers = {
          ...onAll,
          ...(status === '401' || status === '503' ? {} : quota),
          ...(status === '200' ? onVerdicts : {}),
          ...(status === '429' ? { 'Retry-After': text('Seconds until the month turns.', count) } : {}),
        };
      }
    }
  }
  return document;
}
