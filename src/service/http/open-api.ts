import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { z } from 'zod';

/** The built library has a zod of its own, and with it the registry of the schemas that have a name. */
const schemas = { schemaRegistry: z.globalRegistry };
const transformObject = createJsonSchemaTransformObject(schemas);

/** Version of the interface; fields are only ever added within 1.x. */
const API_VERSION = '1.0.0';

/** Options by which `/openapi.json` is made from the schemas of the routes. */
export function openApiOptions(): FastifyDynamicSwaggerOptions {
  return {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Input Screening Service',
        version: API_VERSION,
        description:
          'Screens one text for prompt injection before it reaches a tool. A caller blocks the tool call when the verdict is `block`. Every call counts against the plan, a retry too. Retry a 500 once with backoff, a 400 or 401 never.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: '/' }],
      components: {
        securitySchemes: {
          key: { type: 'http', scheme: 'bearer', description: 'An API key; live keys start with `svc_live_`.' },
        },
      },
      security: [{ key: [] }],
    },
    transform: createJsonSchemaTransform(schemas),
    transformObject: (given) => describeAnswers(oneSchemaEach(transformObject(given))),
  };
}

type Schema = Record<string, unknown>;

interface Document {
  components?: { schemas?: Record<string, Schema> };
}

/**
 * One component a schema. The generator makes two of each, for input and for output, and uses one: the other goes, and
 * the one that is used gets the plain name. Answers lose `additionalProperties: false`, since fields may be added.
 */
function oneSchemaEach<D extends object>(given: D): D {
  const schemas = (given as Document).components?.schemas ?? {};
  let text = JSON.stringify(given);
  const isUsed = (name: string): boolean => text.includes(`"#/components/schemas/${name}"`);
  const kept: Record<string, Schema> = {};
  for (const name of Object.keys(schemas)) {
    const output = schemas[name];
    if (name.endsWith('Input') || output === undefined) continue;
    const { additionalProperties: _, ...open } = output;
    kept[name] = isUsed(name) ? open : (schemas[`${name}Input`] ?? output);
    text = text.replaceAll(`"#/components/schemas/${name}Input"`, `"#/components/schemas/${name}"`);
  }
  const document = JSON.parse(text) as D & Document;
  return { ...document, components: { ...document.components, schemas: kept } };
}

interface Answer {
  description?: string;
  content?: Record<string, { examples?: object }>;
  headers?: Record<string, unknown>;
}

interface DescribedDocument {
  paths?: Record<string, Record<string, { responses?: Record<string, Answer> }>>;
}

const meanings: Readonly<Record<string, string>> = {
  200: 'The verdict.',
  400: 'The body is not JSON, is no object, or lacks what the path needs, such as `input`.',
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
  'RateLimit-Limit': text('Calls of the plan in a month, or what remains where bought calls make that more.', count),
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
function describeAnswers<D extends object>(document: D): D {
  for (const [path, item] of Object.entries((document as DescribedDocument).paths ?? {})) {
    const own = agentAnswers[path];
    for (const { responses = {} } of Object.values(item)) {
      for (const [status, answer] of Object.entries(responses)) {
        const isVerdict = status === '200' && own === undefined;
        answer.description = (status === '200' ? own?.meaning : undefined) ?? meanings[status] ?? '';
        const examples = (status === '200' ? own?.examples : undefined) ?? answerExamples[status] ?? {};
        for (const media of Object.values(answer.content ?? {})) media.examples = examples;
        answer.headers = {
          ...onAll,
          ...(status === '401' || status === '503' ? {} : quota),
          ...(isVerdict ? onVerdicts : {}),
          ...(status === '429' ? { 'Retry-After': text('Seconds until the month turns.', count) } : {}),
        };
      }
    }
  }
  return document;
}

/** Response schemas of the routes that agents call, which return no verdict. */
const agentAnswers: Readonly<Record<string, { readonly meaning: string; readonly examples: object }>> = {
  '/hooks/claude-code': {
    meaning: 'What Claude Code does next.',
    examples: {
      pass: { value: {} },
      refused: {
        value: {
          decision: 'block',
          reason: '[refused by portcullis: … rule=override.ignore-previous evidence=ev_0123456789abcdef01234567]',
          hookSpecificOutput: { hookEventName: 'UserPromptSubmit', suppressOriginalPrompt: true },
        },
      },
    },
  },
  '/hooks/mcp': { meaning: 'The event is in the audit log.', examples: { recorded: { value: { recorded: true } } } },
  '/beta/litellm_basic_guardrail_api': {
    meaning: 'What LiteLLM does next.',
    examples: {
      pass: { value: { action: 'NONE' } },
      blocked: {
        value: {
          action: 'BLOCKED',
          blocked_reason:
            '[refused by portcullis: … rule=override.ignore-previous evidence=ev_0123456789abcdef01234567]',
        },
      },
    },
  },
};

const blocked = {
  verdict: 'block',
  confidence: 0.9,
  rule: 'override.ignore-previous',
  reason: 'The text contains a request to ignore previous instructions.',
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

const answerExamples: Readonly<Record<string, Readonly<Record<string, object>>>> = {
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
  413: error('The body is larger than this service reads: at most 1048576 bytes.'),
  415: error('The body must have `Content-Type: application/json`.'),
  429: error(
    'The calls of this month are used up and no overage credits remain; buy a pack or upgrade the plan.',
    'MONTHLY_LIMIT_REACHED',
  ),
  431: error('The headers are larger than this service reads.'),
  500: error('The analysis failed unexpectedly.'),
  503: error('The service is overloaded; try again in a moment.'),
};
