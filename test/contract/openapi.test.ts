import { createConfig, lintFromString } from '@redocly/openapi-core';
import { describe, expect, it } from 'vitest';
import { testApp } from '../service/test-app.js';
import { onBothDatabases } from './on-both-databases.js';

const STATUSES = ['200', '400', '401', '402', '408', '413', '415', '429', '431', '500', '503'];

/** Routes in the shapes of their hosts: they answer no verdicts. */
const AGENT_PATHS = ['/hooks/claude-code', '/beta/litellm_basic_guardrail_api', '/hooks/mcp'];

onBothDatabases((service) => {
  it('GET /openapi.json publishes the schema of both paths, interface version 1.0.0, without a key', async () => {
    const answer = await service().call({ method: 'GET', path: '/openapi.json' });
    expect(answer.status).toBe(200);
    const document = answer.json();
    expect(document).toMatchObject({ openapi: '3.1.0', info: { version: '1.0.0' } });
    expect(Object.keys(document.paths)).toEqual(['/analyze', '/v30/analyze', ...AGENT_PATHS]);
  });
});

describe('the published schema', async () => {
  const { app } = await testApp();
  const document = (await app.inject('/openapi.json')).json();
  const operations = Object.entries<{ post: Operation }>(document.paths);

  it('the schema is valid OpenAPI 3.1 to a linter, strictly, and its examples fit its schemas', async () => {
    const config = await createConfig({ extends: ['recommended-strict'] });
    const problems = await lintFromString({ source: JSON.stringify(document), config });
    expect(problems.map(({ ruleId, message, location }) => `${ruleId}: ${message} ${location[0]?.pointer}`)).toEqual(
      [],
    );
  });

  it.each(operations)('%s has every status, each with its headers and an example', (path, { post }) => {
    expect(Object.keys(post.responses)).toEqual(STATUSES);
    for (const [status, { content, headers }] of Object.entries(post.responses)) {
      expect(Object.keys(content)).toEqual(['application/json']);
      expect(Object.keys(content['application/json']?.examples ?? {}).length, status).toBeGreaterThan(0);
      expect(headers).toHaveProperty('Access-Control-Allow-Origin');
      expect('Retry-After' in headers, status).toBe(status === '429');
      expect('X-SVC-Router-Level' in headers, status).toBe(status === '200' && !AGENT_PATHS.includes(path));
    }
  });

  it('`input` is required, and of any JSON type', () => {
    const body = document.components.schemas.AnalyzeRequest;
    expect(body.required).toEqual(['input']);
    expect(body.properties.input.type).toEqual(['string', 'number', 'boolean', 'null', 'array', 'object']);
  });
});

interface Operation {
  readonly responses: Readonly<
    Record<
      string,
      { readonly content: Readonly<Record<string, { readonly examples?: object }>>; readonly headers: object }
    >
  >;
}
