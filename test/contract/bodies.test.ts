import { expect, it } from 'vitest';
import { onBothDatabases } from './on-both-databases.js';
import { ATTACK, HARMLESS } from './texts.js';

const MARKER = 'zebra-marker-4711';
const nested = (depth: number) => `{"input":${'['.repeat(depth)}"${MARKER}"${']'.repeat(depth)}}`;

onBothDatabases((service) => {
  it.each<[string, string | Buffer | undefined, RegExp]>([
    ['nothing', undefined, /^The body is empty/],
    ['no bytes', '', /^The body is empty/],
    ['white space', ' \n', /^The body is empty/],
    ['a member without a value', '{"input": }', /position 10/],
    ['a missing brace', `{"input": "${MARKER}"`, /ends at position 29/],
    ['a trailing comma', `{"input": "a",}`, /position 14/],
    ['single quotes', `{'input': '${MARKER}'}`, /position 1/],
    ['text', `${MARKER} and more`, /position 0/],
    ['two values', `{"input":"a"} "${MARKER}"`, /position 14/],
    ['a control character', `{"input":"a\u0001${MARKER}"}`, /position 11/],
    ['NaN', '{"input":NaN}', /position 9/],
    ['an unfinished escape', `{"input":"${MARKER}\\u12"}`, /position \d+/],
    ['a name twice', `{"input":"${MARKER}","input":"b"}`, /repeats a name .* position 29/],
    ['a name twice within', `{"input":{"${MARKER}":1,"${MARKER}":2}}`, /repeats a name .* position 32/],
    ['a mistake behind a million characters', `{"input":"${'a'.repeat(1_000_000)}",}`, /position 1000012/],
    ['65 levels', nested(64), /deeper than 64 levels at position 72/],
    ['100,000 levels', nested(100_000), /deeper than 64 levels at position 72/],
    ['a million brackets', '['.repeat(1_000_000), /deeper than 64 levels at position 64/],
    ['a form', `input=${MARKER}`, /position 0/],
    ['bytes of gzip', Buffer.from('1f8b0800000000000003', 'hex'), /position \d/],
    ['UTF-16', Buffer.from(`{"input":"${MARKER}"}`, 'utf16le'), /position 1/],
  ])('malformed JSON: %s is a 400 that names the position', async (_name, body, words) => {
    const { key } = await service().account();
    const headers = body === undefined ? { 'content-type': 'application/json' } : {};
    const answer = await service().call({ body, key, headers });
    expect(answer.status).toBe(400);
    expect(Object.keys(answer.json())).toEqual(['error']);
    expect(answer.json().error).toMatch(words);
    expect(answer.body).not.toContain(MARKER);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', 'access-control-allow-origin': '*' });
  });

  it.each([
    ['["input"]', 'an array'],
    ['"input"', 'a string'],
    ['7', 'a number'],
    ['true', 'a boolean'],
    ['null', 'null'],
  ])('a body that is no object: %s is a 400 that names the type', async (body, type) => {
    const { key } = await service().account();
    const answer = await service().call({ body, key });
    expect(answer.status).toBe(400);
    expect(answer.json()).toEqual({ error: `The body is ${type}; it must be a JSON object with \`input\`.` });
  });

  it.each([{}, { text: 'a' }, { Input: 'a' }, { input_: 'a' }, { nested: { input: 'a' } }])(
    '%j lacks `input`, which is a 400',
    async (body) => {
      const { key } = await service().account();
      const answer = await service().call({ body, key });
      expect(answer.status).toBe(400);
      expect(answer.json()).toEqual({ error: 'The body lacks `input`.' });
    },
  );

  it.each<[string, string, string]>([
    ['null', 'null', 'null'],
    ['false', 'false', 'false'],
    ['a number', '1.50', '1.5'],
    ['an array', '["a", "b"]', '["a","b"]'],
    ['an object, its names sorted', '{"b": 1, "a": {"d": [], "c": null}}', '{"a":{"c":null,"d":[]},"b":1}'],
    [
      'a name that is special to JavaScript',
      '{"__proto__": {"a": 1}, "constructor": "b"}',
      '{"__proto__":{"a":1},"constructor":"b"}',
    ],
    ['64 levels', `${'['.repeat(63)}${']'.repeat(63)}`, `${'['.repeat(63)}${']'.repeat(63)}`],
  ])('`input` of another JSON type: %s is screened as its JSON text', async (_name, json, text) => {
    const { key, accountId } = await service().account();
    const answer = await service().call({ body: `{"input":${json}}`, key });
    expect(answer.status).toBe(200);
    const record = await service().store.evidence.get(accountId, answer.json().evidence_id);
    expect(record?.input).toMatchObject({ text, json: true });
  });

  it.each([
    `{"name":"send_mail","arguments":{"body":"${ATTACK}"}}`,
    `["${ATTACK}"]`,
    `{"__proto__":{"a":"${ATTACK}"}}`,
    `{"${ATTACK}":1}`,
  ])('`input` of another JSON type: an attack in %s is blocked', async (json) => {
    const { key } = await service().account();
    expect((await service().call({ body: `{"input":${json}}`, key })).json()).toMatchObject({ verdict: 'block' });
  });

  it.each<[string, Buffer]>([
    ['invalid UTF-8', Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80])],
    ['a cut UTF-8 sequence', Buffer.from([0xf0, 0x9f, 0x94])],
    ['lone surrogates, escaped', Buffer.from('\\ud800 \\udfff \\udc00\\ud800')],
    ['NUL, escaped', Buffer.from('\\u0000')],
    ['noncharacters', Buffer.from('\\uffff\\ufffe\ufdd0')],
    ['the tag characters', Buffer.from('\u{e0041}\u{e0042}')],
  ])('%s is screened, and an attack beside it is blocked', async (_name, bytes) => {
    const { key, accountId } = await service().account();
    const body = (text: string) => Buffer.concat([Buffer.from('{"input":"'), bytes, Buffer.from(`${text}"}`)]);
    const harmless = await service().call({ body: body(` ${HARMLESS}`), key });
    expect(harmless.status).toBe(200);
    const attack = await service().call({ body: body(` ${ATTACK}`), key });
    expect(attack.json()).toMatchObject({ verdict: 'block' });
    const record = await service().store.evidence.get(accountId, attack.json().evidence_id);
    expect(record?.input.text).toContain(ATTACK);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=a',
    'application/jsonx',
    'application/xml',
    'application/json; charset=utf-16',
    'nonsense',
    '',
  ])('the content type "%s" is a 415', async (type) => {
    const { key } = await service().account();
    const answer = await service().call({ body: { input: HARMLESS }, key, headers: { 'content-type': type } });
    expect(answer.status).toBe(415);
    expect(Object.keys(answer.json())).toEqual(['error']);
  });

  it.each([
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'Application/JSON',
  ])('the content type "%s" is JSON', async (type) => {
    const { key } = await service().account();
    const answer = await service().call({ body: { input: HARMLESS }, key, headers: { 'content-type': type } });
    expect(answer.status).toBe(200);
  });

  it.each(['gzip', 'br', 'deflate, gzip'])('a body in %s is a 415', async (coding) => {
    const { key } = await service().account();
    const answer = await service().call({ body: { input: HARMLESS }, key, headers: { 'content-encoding': coding } });
    expect(answer.status).toBe(415);
    expect(answer.headers['accept-encoding']).toBe('identity');
  });

  it('a body of 1 MiB is screened, one byte more is a 413, announced or not', async () => {
    const { key } = await service().account();
    const body = (bytes: number) => `{"input":"${'a '.repeat(bytes).slice(0, bytes - 12)}"}`;
    expect((await service().call({ body: body(1_048_576), key })).status).toBe(200);
    const announced = await service().call({ body: body(1_048_577), key });
    const chunked = await service().call({
      body: body(1_048_577),
      key,
      headers: { 'transfer-encoding': 'chunked' },
    });
    for (const { status, headers, json } of [announced, chunked]) {
      expect(status).toBe(413);
      expect(Object.keys(json())).toEqual(['error']);
      expect(headers['access-control-allow-origin']).toBe('*');
    }
  });
});
