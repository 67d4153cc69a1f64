import { afterEach, expect, it } from 'vitest';
import { onBothDatabases } from './on-both-databases.js';
import { ATTACK, HARMLESS } from './texts.js';

const COMMON = [
  'access-control-allow-origin: *',
  `access-control-expose-headers: ${[
    ...['X-SVC-Router-Level', 'X-SVC-Model-Score', 'X-SVC-Model-Verdict', 'X-SVC-Supav4-Score', 'X-SVC-Supav4-Verdict'],
    ...['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After', 'Deprecation', 'Sunset'],
  ].join(', ')}`,
  'cache-control: no-store',
  'x-content-type-options: nosniff',
];
const MODEL = ['x-svc-router-level: rules', 'x-svc-model-score: n/a', 'x-svc-model-verdict: off'];
const DEPRECATED = [
  'x-svc-supav4-score: n/a',
  'x-svc-supav4-verdict: off',
  'deprecation: @1795219200',
  'sunset: Sun, 10 Jan 2027 23:59:59 GMT',
];

/** Seconds of the month that are left at a time. */
const leftAt = (time: string) => {
  const at = new Date(time);
  return Math.ceil((Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1) - at.getTime()) / 1000);
};

onBothDatabases((service) => {
  afterEach(() => service().setClock(undefined));

  it.each([
    ['2026-12-01T12:00:00Z', true],
    ['2027-01-10T23:59:50Z', true],
    ['2027-01-11T00:00:01Z', false],
    ['2028-02-29T00:00:00Z', false],
  ])('every header of a verdict byte by byte at %s; the deprecated pair is there: %s', async (time, there) => {
    const { key } = await service().account();
    await service().setClock(time);
    const { lines, body } = await service().call({ body: { input: ATTACK }, key });
    const reset = Number(/ratelimit-reset: (\d+)/.exec(lines.join('\n'))?.[1]);
    expect(leftAt(time) - reset).toBeGreaterThanOrEqual(0);
    expect(leftAt(time) - reset).toBeLessThan(9);
    expect(lines.filter((line) => !/^(date|connection|keep-alive): /i.test(line))).toEqual([
      ...COMMON,
      'ratelimit-limit: 250000',
      'ratelimit-remaining: 249999',
      `ratelimit-reset: ${reset}`,
      ...MODEL,
      ...(there ? DEPRECATED : []),
      'content-type: application/json',
      `content-length: ${Buffer.byteLength(body)}`,
    ]);
  });

  it('Deprecation names a moment before now, Sunset one after it, as RFC 9745 and RFC 8594 write them', async () => {
    const { key } = await service().account();
    await service().setClock('2026-12-24T00:00:00Z');
    const { headers } = await service().call({ body: { input: HARMLESS }, key });
    expect(Number(headers.deprecation?.slice(1)) * 1000).toBeLessThan(service().now());
    expect(new Date(headers.sunset ?? '').getTime()).toBeGreaterThan(service().now());
    expect(new Date(headers.sunset ?? '').toUTCString()).toBe(headers.sunset);
  });

  it('content type and CORS on every answer, and Retry-After on none of them but a 429', async () => {
    const { key } = await service().account();
    const tiny = await service().account({ plan: 'tiny' });
    for (let spent = 0; spent < 3; spent++) await service().call({ body: { input: HARMLESS }, key: tiny.key });
    const ended = await service().account({ plan: 'trial', trialEndsAt: service().now() - 1 });
    const body = { input: HARMLESS };
    const answers = await Promise.all(
      [
        { body, key },
        { body: {}, key },
        { body },
        { body, key: ended.key },
        { body, key: tiny.key },
        { body: 'x'.repeat(1_048_577), key },
        { body, key, headers: { 'content-type': 'text/plain' } },
        { body, key, headers: { 'content-encoding': 'gzip' } },
        { body, key, path: '/nowhere' },
        { body, key, path: '/%zz' },
        { method: 'GET', key },
        { method: 'POST', path: '/openapi.json', key },
        { method: 'GET', path: '/openapi.json' },
        { method: 'GET', path: '/healthz' },
        { method: 'GET', path: '/readyz' },
      ].map((it) => service().call(it)),
    );
    expect(answers.map(({ status }) => status)).toEqual([
      ...[200, 400, 401, 402, 429, 413, 415, 415, 404, 400, 405, 405, 200, 200, 200],
    ]);
    for (const { status, headers, lines } of answers) {
      expect(headers['content-type'], String(status)).toBe('application/json');
      expect(lines.filter((line) => line.startsWith('access-control-allow-origin'))).toEqual([COMMON[0]]);
      expect('retry-after' in headers, String(status)).toBe(status === 429);
    }
  });

  it('X-SVC-Router-Level is `rules` where the rules alone decided, and no verdict headers on an error', async () => {
    const { key } = await service().account();
    const verdict = await service().call({ body: { input: HARMLESS }, key });
    expect(verdict.headers['x-svc-router-level']).toBe('rules');
    const error = await service().call({ body: {}, key });
    expect(Object.keys(error.headers).filter((name) => name.startsWith('x-svc-'))).toEqual([]);
  });
});
