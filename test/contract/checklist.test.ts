import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

/** The rows of the contract's table of what the description leaves open; its ten facts are numbers. */
const ROWS = [
  ...['mode', 'rule', 'reason', 'score, threshold, confidence', 'X-SVC-Router-Level', 'Minimal form'],
  ...[
    '`input` of another JSON type',
    'Malformed JSON',
    'a non-object body',
    'Wrong `Content-Type`',
    'body over the limit',
  ],
  ...['unknown path 404', 'other methods 405 with `Allow`', 'OPTIONS answers the CORS preflight', 'all JSON'],
  ...['Invalid UTF-8, lone surrogates, NUL', 'What counts', 'Plans', 'A month', 'Evidence record', 'Evidence written'],
  'Compatibility',
];

const source = readdirSync('test/contract')
  .filter((name) => name.endsWith('.test.ts') && name !== 'checklist.test.ts')
  .map((name) => readFileSync(`test/contract/${name}`, 'utf8'))
  .join('\n');

it.each(Array.from({ length: 10 }, (_, at) => at + 1))('fact %i has a test that names it', (fact) => {
  expect(source).toMatch(new RegExp(`['"\`]fact ${fact}: `));
});

it.each(ROWS)('row %s has a test that names it', (row) => {
  expect(source).toMatch(new RegExp(`['"\`]row ${row.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}`));
});
