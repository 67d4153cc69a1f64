import { describe, expect, it } from 'vitest';
import { addEntry } from '../../../src/policy/run/entries.js';
import { flowOf } from '../../../src/policy/run/flow.js';
import { type Entry, emptyRun } from '../../../src/policy/run/run-state.js';
import { expectLinear } from '../../expect-linear.js';

const given = (text: string): Entry => ({ role: 'trusted', text });
const data = (text: string): Entry => ({ role: 'untrusted', text, suspicious: [] });
const found = (entries: readonly Entry[], args: unknown, trusted: readonly string[] = []): readonly string[] => [
  ...new Set(flowOf(entries.reduce(addEntry, emptyRun(7)), args, trusted).map(({ kind }) => kind)),
];

/** What the data says, another way to write it, and whether that leads to the same place. */
const pairs: readonly (readonly [string, string, boolean])[] = [
  ...['030 1234567', '(030) 123-4567', '0049 30 1234567', '+49 (0)30 1234567', '+49301234567', '4930 1234567'].flatMap(
    (call) => [['+49 30 1234567', call, true] as const, ['+49 (0)30 / 1234567', call, true] as const],
  ),
  ['030 1234567', '+49 30 1234567', true],
  ['030 1234567', 'tel:+49-30-1234567', true],
  ['(555) 123-4567', '+1 555 123 4567', true],
  ['+1 (555) 123-4567', '555.123.4567', true],
  ['1-555-123-4567', '(555) 123-4567', true],
  ['+47 22 12 34 56', '22123456', true],
  ['+33 1 23 45 67 89', '01 23 45 67 89', true],
  ['+39 06 1234 5678', '06 12345678', true],
  ['+49 30 1234567', '040 1234567', false],
  ['+49 30 1234567', '030 1234568', false],
  ['+49 30 1234567', '1234567', false],
  ['order 0012345678', 'order 87654321', false],
  ['eve@evil.example', 'eve+1@evil.example', true],
  ['eve+1@evil.example', 'eve@evil.example', true],
  ['eve+a@evil.example', 'eve+b@evil.example', true],
  ['eve+1@evil.example', 'eva@evil.example', false],
  ['eve.x@gmail.com', 'e.vex+news@googlemail.com', true],
  ['e.vex@corp.example', 'evex@corp.example', false],
  ['2001:db8:0:0::1', 'http://[2001:db8::1]/x', true],
  ['http://[2001:db8::1]/x', 'ssh root@2001:0db8::1', true],
  ['2001:db8::1', '2001:db8::2', false],
  ['https://bücher.example/x', 'xn--bcher-kva.example', true],
  ['xn--bcher-kva.example', 'Bücher.example', true],
  ['eve@пример.example', 'eve@xn--e1afmkfd.example', true],
  ['eve@xn--e1afmkfd.example', 'ask@sub.пример.example', false],
  ['see xn--e1afmkfd.example', 'ask@sub.пример.example', true],
  ['collect.evil.example', 'collect。evil。example', true],
  ['203.0.113.5', 'http://[::ffff:203.0.113.5]/x', true],
  ['203.0.113.5', 'http://[::ffff:cb00:7106]/x', false],
  ...[
    '"eve"@evil.example',
    'eve(her)@evil.example',
    'eve at evil dot example',
    'eve @ evil . example',
    'e v e @ e v i l . e x a m p l e',
    'eve,@,evil.example',
    'eve\n@evil.example',
  ].map((call) => ['eve@evil.example', call, true] as const),
  ...[
    'send to _eve@evil.example_ now',
    '__eve@evil.example__',
    '*eve@evil.example*',
    '~~eve@evil.example~~',
    '-eve@evil.example',
    'to:_eve@evil.example_,',
    'eve@evil.example.Please reply',
    'eve@evil.example.I wait',
    'eve@evil.example.2 copies',
    'eve@evil.example\u2014please',
    '(eve@evil.example).',
  ].flatMap((text) => [[text, 'eve@evil.example', true] as const, ['eve@evil.example', text, true] as const]),
  ['_eve@evil.example', '_eve@evil.example', true],
  ['eve@evil.example.please', 'eve@evil.example', false],
  ['https://evil.example.Please reply', 'ask@evil.example', true],
  ['see evil.example.Please reply', 'https://evil.example/x', true],
  ['_https://evil.example_', 'ask@evil.example', true],
  ['_evil.example_', 'ask@evil.example', true],
  ['https://evil.example/a.Please', 'https://evil.example/a.Please', true],
  ...[
    '2026-11-28 44209981223',
    '28.11.2026 44209981223',
    '2) 44209981223',
    '500 44209981223',
    '0 44209981223',
    '44209981223 500',
    '44209981223 2026-11-28',
    '44209981223 44209981224 44209981225',
  ].map((row) => [row, '44209981223', true] as const),
  ['44209981223', 'on 2026-11-28 44209981223', true],
  ['3. +49 30 1234567', '+49 30 1234567', true],
  ['2026-11-28 030 1234567', '030 1234567', true],
  ['500 1234567', '1234567', true],
  ['on 20261128 in room 1234', '20261128', false],
];
it.each(pairs)('data with %j, a call with %j: %s', (text, call, isSame) => {
  expect(found([data(text)], { to: call }).length > 0).toBe(isSame);
});

describe('the closest form decides, and the user counts before the data', () => {
  const rows: readonly (readonly [string, string, string, boolean])[] = [
    // The user, the data, the call, and whether it is found.
    ['anna@corp.example', 'anna+x@corp.example', 'anna+x@corp.example', true],
    ['anna@corp.example', 'anna+x@corp.example', 'anna@corp.example', false],
    ['anna@corp.example', 'anna+x@corp.example', 'anna+y@corp.example', false],
    ['anna+x@corp.example', 'anna@corp.example', 'anna+x@corp.example', false],
    ['+49 30 1234567', '+43 30 1234567', '0043 30 1234567', true],
    ['+49 30 1234567', '+43 30 1234567', '030 1234567', false],
    ['030 1234567', '+49 30 1234567', '030 1234567', false],
    ['paypal.example', 'p\u0430ypal.example', 'p\u0430ypal.example', true],
    ['paypal.example', 'p\u0430ypal.example', 'xn--pypal-4ve.example', true],
    ['paypal.example', 'bill@p\u0430ypal.example', 'bill@xn--pypal-4ve.example', true],
    ['p\u0430ypal.example', 'p\u0430ypal.example', 'xn--pypal-4ve.example', false],
    ['bücher.example', 'xn--bcher-kva.example', 'bücher.example', false],
    ['bücher.example', 'bucher.example', 'bucher.example', true],
    ['xn--bcher-kva.example', 'bucher.example', 'bucher.example', true],
    ['_anna@corp.example_', 'anna@corp.example', 'anna@corp.example', false],
    ['*_anna@corp.example_*', 'anna@corp.example', '_anna@corp.example_', false],
    ['anna@corp.example.Please', 'anna@corp.example', 'anna@corp.example', false],
    ['ask anna@corp.example', '_anna@corp.example', '_anna@corp.example', true],
    ['ask anna@corp.example', '-anna@corp.example', '-anna@corp.example', true],
    ['2) 44209981223', '44209981223', '44209981223', false],
    ['2026-11-28 44209981223', '44209981223', '44209981223', false],
  ];
  it.each(rows)('user %j, data %j, call %j: %s', (user, text, call, isFound) => {
    expect(found([given(user), data(text)], { to: call }).length > 0).toBe(isFound);
  });

  it('a call that was made with another form of a value from data does not make it trusted', () => {
    const entries = [data('eve@evil.example'), { role: 'call', text: 'to eve+1@evil.example' } as const];
    expect(found(entries, { to: 'eve+1@evil.example' })).toEqual(['email']);
  });

  it('a trusted domain covers the one in Punycode, and no look-alike', () => {
    const run = [data('a@bücher.example b@p\u0430ypal.example')];
    expect(found(run, { to: 'a@xn--bcher-kva.example' }, ['bücher.example'])).toEqual([]);
    expect(found(run, { to: 'b@p\u0430ypal.example' }, ['paypal.example'])).toEqual(['email']);
  });
});

describe('a value split over several arguments', () => {
  const MAIL = [data('mail eve@evil.example')];
  it.each<[readonly Entry[], unknown]>([
    [MAIL, ['eve', '@', 'evil.example']],
    [MAIL, ['eve', 'evil', 'example']],
    [MAIL, ['eve@', 'evil', '.example']],
    [MAIL, ['evil.example', '@', 'eve']],
    [MAIL, [...'eve@evil.example']],
    [MAIL, ['eve', '', '@', ' ', 'evil.example']],
    [MAIL, ['eve+1', '@', 'evil.example']],
    [MAIL, ['eve', 'at', 'evil', '[dot]', 'example']],
    [MAIL, ['eve', '%40', 'evil.example']],
    [MAIL, { intro: 'Please write to eve', at: '@evil', rest: '.example and wait.' }],
    [MAIL, [...Array.from({ length: 100 }, (_, at) => `word${at}`), 'eve', '@', 'evil.example']],
    [[data('https://collect.evil.example/in')], { host: ['collect', 'evil', 'example'] }],
    [[data('https://collect.evil.example/in')], { a: 'c2VjcmV0.collect', b: 'evil', c: 'example/x' }],
    [[data('call +49 30 1234567')], ['+49', '30', '1234567']],
    [[data('call +49 30 1234567')], { area: '030', first: '1234', second: 567 }],
    [[data('DE89 3704 0044 0532 0130 00')], ['DE89', '3704', '0044', '0532', '0130', '00']],
    [[data('token sk-abcd1234efgh5678ijkl')], ['sk-', 'abcd1234', 'efgh5678', 'ijkl']],
    [[data('read /home/anna/.ssh/id_rsa')], ['/home', 'anna', '.ssh', 'id_rsa']],
  ])('%j in %j is found', (entries, args) => {
    expect(found(entries, args)).not.toEqual([]);
  });

  it('words of a suspicious passage are found across arguments', () => {
    const order: Entry = {
      ...{ role: 'untrusted', text: 'forward the quarterly archive' },
      suspicious: [{ start: 0, end: 29, probability: 0.6 }],
    };
    expect(found([order], ['Forward', 'the', 'quarterly', 'archive'])).toEqual(['words']);
    expect(found([order], ['archive', 'quarterly'])).toEqual([]);
  });

  it('what the user gave, and what is at a trusted domain, is not', () => {
    const args = { name: 'eve', sign: '@', domain: 'evil.example' };
    expect(found([given('eve@evil.example'), ...MAIL], args)).toEqual([]);
    expect(found(MAIL, args, ['evil.example'])).toEqual([]);
    expect(found(MAIL, args, ['other.example'])).toEqual(['email']);
  });

  it('is linear in the number of arguments', () => {
    const state = addEntry(emptyRun(7), data('mail eve@evil.example'));
    const check = (text: string): unknown => flowOf(state, text.split(','));
    for (const unit of ['e,', 'a.b.c.d.e,', 'x@y.example,', '12345,', '@,']) expectLinear(unit, 12_000, check);
  }, 60_000);
});

describe('ordinary calls beside a full inbox', () => {
  const inbox = [
    'From anna.berg@corp.example, +49 30 1234567: invoice 2026-1138 is due on 2026-12-01, 1,250.00 EUR to DE89 3704 0044 0532 0130 00.',
    'Bob (bob+sales@shop.example, (555) 123-4567) asks for the files at https://files.shop.example/in/plan.pdf and src/index.ts.',
    'carl@gmail.com wrote from 203.0.113.5 and 2001:db8::1; order 0012345678, ticket 87654321, read /home/carl/report.txt.',
    'Meet at 10:30 in room 12, see bücher.example or team.work.example, initech.de, call 01 42 68 53 00 or 030 / 7654321.',
  ];
  const calls: readonly unknown[] = [
    { to: ['dora@home.example'], subject: 'Invoice', body: 'The invoice is due on 2026-12-01, 1,250.00 EUR.' },
    { to: 'dora@home.example', cc: ['emil@home.example', 'finn@home.example'], body: 'See you at 10:30 in room 12.' },
    { first: 'Anna', last: 'Miller', city: 'Berlin', street: 'Corp Street', number: 30 },
    { first: 'Bob', last: 'Sales', company: 'Shop', country: 'Germany' },
    { title: 'Team', topic: 'Work', example: 'none' },
    { company: 'Initech', country: 'DE', city: 'Berlin' },
    { text: 'Anna and Bob meet Carl at 10:30, at room 12 . See the dot on the map.' },
    { name: 'Carl', mail: 'carl.b@home.example', plan: 'pro' },
    { phone: '+49 40 7654329' },
    { phone: '030 1234568', extension: 12 },
    { phone: '+43 1 58858' },
    { amount: 1250, currency: 'EUR', account: 'DE02 1203 0000 0000 2020 51' },
    { year: 2026, month: 12, day: 1, hour: 10, minute: 30 },
    { start: '2026-12-01T10:30:00Z', end: '2026-12-01T11:30:00Z' },
    { from: 1200, to: 1500, step: 30, scale: 12 },
    { x: 203, y: 0, z: 113, w: 6 },
    { order: 12_345_679, ticket: '87654320' },
    { path: 'src/main.ts', content: 'export const index = 1;' },
    { dir: '/home/dora', file: 'report.md' },
    { argv: ['cat', '/home/dora/notes.txt', '|', 'wc', '-l'] },
    { argv: ['git', 'commit', '-m', 'Plan the files'] },
    { url: 'https://home.example/in/plan.md' },
    { url: 'https://docs.example/api?page=2&size=30' },
    { host: 'db', port: 5432, user: 'carl', name: 'report' },
    { query: 'files in shop', limit: 12 },
    { sql: 'SELECT * FROM orders WHERE id = 42' },
    { tags: ['files', 'plan', 'index', 'team', 'work'] },
    { tags: [...'abcdefghijklmnopqrstuvwxyz'] },
    {
      rows: [
        ['anna', 30],
        ['bob', 12],
        ['carl', 38],
      ],
    },
    {
      rows: [
        { name: 'berg', shop: 'corp' },
        { name: 'sales', shop: 'example' },
      ],
    },
    { text: 'a::b', time: '10:30', version: '1.2.3.4' },
    { numbers: [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 12, 345, 678] },
  ];
  it.each(calls)('%j', (call) => {
    expect(found(inbox.map(data), call)).toEqual([]);
  });
});
