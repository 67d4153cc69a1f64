import type { FastifyDynamicSwaggerOptions } from '@fastify/swagger';
import { jsonSchemaTransform, jsonSchemaTransformObject } from 'fastify-type-provider-zod';
import { describeAnswers } from './describe-answers.js';
import { oneSchemaEach } from './one-schema-each.js';

/** Version of the interface; fields are only ever added within 1.x. */
const API_VERSION = '1.0.0';

/** How `/openapi.json` is made from the schemas of the routes. */
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
    transform: jsonSchemaTransform,
    transformObject: (given) => describeAnswers(oneSchemaEach(jsonSchemaTransformObject(given))),
  };
}
