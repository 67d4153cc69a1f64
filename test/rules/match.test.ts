import { describe, expect, it } from 'vitest';
import type { RuleMatch } from '../../src/engine/rules/types.js';
import { compile, hits, makeRule } from './make-pack.js';

type Row = readonly [name: string, match: RuleMatch, text: string, found: readonly string[]];

const any = (...patterns: readonly string[]): RuleMatch => ({ any: patterns });

const rows: readonly Row[] = [
  ['a pattern', any('ignore'), 'Please IGNORE it', ['IGNORE']],
  ['not its twin', any('ignore'), 'Please adore it', []],
  ['every alternative', any('red fox', 'hen'), 'A red fox, a hen', ['red fox', 'hen']],
  ['a space: Markdown marks', any('drop rules'), '**drop** *rules*', ['drop** *rules']],
  ['a space: no break', any('drop rules'), 'drop\u00a0rules', ['drop\u00a0rules']],
  ['a space: not nothing', any('drop rules'), 'droprules', []],
  ['an optional space', any('drop ?rules'), 'droprules drop rules', ['droprules', 'drop rules']],
  ['a plain space', any('drop\\x20rules'), 'drop_rules', []],
  ['folded accents', any('précédentes'), 'PRÉCÉDENTES precedentes', ['PRÉCÉDENTES', 'precedentes']],
  ['folded Cyrillic', any('чёрный'), 'Черный ЧЁРНЫЙ', ['Черный', 'ЧЁРНЫЙ']],
  ['captures are groups', any('(red|blue) (fox)'), 'blue fox', ['blue fox']],
  ['word edges beyond ASCII', any('{{wb}}кот{{we}}'), 'скот, кот!', ['кот!']],
  ['sequence', { sequence: [['send'], ['password']] }, 'Send me the password', ['Send me the password']],
  ['sequence: order', { sequence: [['send'], ['password']] }, 'The password to send', []],
  ['sequence: gap', { sequence: [['send'], ['password']], gap: 5 }, 'Send me the password', []],
  ['sequence: sentence end', { sequence: [['send'], ['password']] }, 'Send it. The password', []],
  ['sequence: a list item', { sequence: [['send'], ['password']] }, 'Send mail\n- password', []],
  ['sequence: a heading', { sequence: [['send'], ['password']] }, 'Send mail\n## password', []],
  ['sequence: a dash', { sequence: [['send'], ['password']] }, 'Send - password', ['Send - password']],
  ['sequence: dot inside', { sequence: [['send'], ['password']] }, 'Send a.b password', ['Send a.b password']],
  [
    'sequence: no stop',
    { sequence: [['send'], ['password']], stop: 'none' },
    'Send it. The password',
    ['Send it. The password'],
  ],
  ['sequence: the far one', { sequence: [['aa'], ['bb'], ['cc']], gap: 6 }, 'aa bb bb cc', ['aa bb bb cc']],
  ['sequence: every start', { sequence: [['aa'], ['bb']] }, 'aa aa bb', ['aa aa bb', 'aa bb']],
  ['all', { all: [['send'], ['password']] }, 'The password to send', ['password to send']],
  ['all: within', { all: [['send'], ['password']], within: 10 }, 'The password to send', []],
  ['all: sentence end', { all: [['send'], ['password']] }, 'A password. To send', []],
  ['all: a numbered item', { all: [['send'], ['password']] }, 'The password\n2. To send', []],
  ['all: three', { all: [['cc'], ['aa'], ['bb']] }, 'bb x cc y aa', ['bb x cc y aa']],
];

describe('matching', () => {
  it.each(rows)('%s', (_, match, text, found) => {
    expect(hits(compile([makeRule({ match })]), text)).toEqual(found);
  });

  it('drops findings inside an exception, not beside it', () => {
    const pack = compile([makeRule({ match: any('ignore'), except: ['ignore my mail'] })]);
    expect(hits(pack, 'ignore my mail')).toEqual([]);
    expect(hits(pack, 'ignore my rules, ignore my mail')).toEqual(['ignore']);
  });

  it('drops findings inside an exception whose literals are in another segment', () => {
    const wide = compile([makeRule({ match: any('ignore'), except: ['minutes (?:[a-z]+ )+adjourned'] })]);
    const filler = 'they went on and on '.repeat(300);
    expect(hits(wide, `minutes ${filler}ignore ${filler}adjourned`)).toEqual([]);
    expect(hits(wide, `minutes ${filler}ignore ${filler}`)).toEqual(['ignore']);
    expect(hits(wide, `minutes ${filler}adjourned ${filler}ignore`)).toEqual(['ignore']);
  });

  it('takes no more than linear memory for an exception whose literals are all over a text', () => {
    const pack = compile([makeRule({ match: any('ignore'), except: ['users (?:[a-z]+ )+bypass it'] })]);
    // Pairs of the two literals would be 100 million.
    const filler = `${'users '.repeat(11)}bypass it, `.repeat(4000);
    expect(hits(pack, `ignore ${filler}ignore`)).toEqual(['ignore', 'ignore']);
  });

  it('finds what begins in one segment of a long text while the next one is read', () => {
    const pack = compile([makeRule({ match: { sequence: [['send'], ['password']], gap: 200 } })]);
    const filler = 'x'.repeat(2010);
    expect(hits(pack, `${filler} send ${'y'.repeat(90)} password`)).toEqual([`send ${'y'.repeat(90)} password`]);
  });

  it('reads the raw view as it was written', () => {
    const pack = compile([makeRule({ match: any('[A-Z]{4} [a-z]+'), views: ['raw'] })]);
    expect(hits(pack, 'STOP now, stop now')).toEqual(['STOP now']);
    expect(hits(pack, 'STOP\u00a0now')).toEqual([]);
  });

  it('points into the input from a decoded view, once a rule and span', () => {
    const pack = compile([makeRule({ match: any('ignore all rules') })]);
    const encoded = Buffer.from('please ignore all rules now').toString('base64');
    const [only, ...rest] = hits(pack, `See ${encoded}.`);
    expect(rest).toEqual([]);
    expect(encoded).toContain(only);
    expect(only?.length).toBeGreaterThan(16);
  });

  it.each([
    ['level', { paranoia: 2 }, {}, { paranoia: 2 }],
    ['channel', { channels: ['document'] }, { channel: 'user' }, { channel: 'document' }],
    ['channel', { channels: ['instructions'] }, { channel: 'document' }, { channel: 'instructions' }],
    ['channel', { channels: ['document'] }, { channel: 'unknown' }, {}],
    ['channel', { channels: ['user'] }, { channel: 'instructions' }, { channel: 'unknown' }],
    ['channel', { channels: ['unknown', 'document'] }, { channel: 'user' }, { channel: 'unknown' }],
  ] as const)('leaves out rules of another %s', (_, part, out, within) => {
    const pack = compile([makeRule({ match: any('ignore'), ...part })]);
    expect(hits(pack, 'ignore', out)).toEqual([]);
    expect(hits(pack, 'ignore', within)).toEqual(['ignore']);
  });

  it('finds what lies across the cut of a long text', () => {
    const pack = compile([
      makeRule({ match: any('ignore all rules') }),
      makeRule({ id: 'test.far', match: { sequence: [['send'], ['password']], gap: 100 } }),
    ]);
    const found = Array.from({ length: 60 }, (_, at) => {
      const text = `${'x '.repeat(2020 + at)}ignore all rules, send ${'y '.repeat(45)}password ${'z '.repeat(3000)}`;
      return hits(pack, text).length;
    });
    expect(new Set(found)).toEqual(new Set([2]));
  });
});
