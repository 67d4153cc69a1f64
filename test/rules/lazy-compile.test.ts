import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRe2Compiler, re2Compiler } from '../../src/adapters/re2/re2-compiler.js';
import type { Pattern } from '../../src/engine/ports.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import { compileLazily } from '../../src/engine/rules/pattern/compiled-pattern.js';
import { preparePattern } from '../../src/engine/rules/pattern/prepare-pattern.js';
import type { CompiledPack, RuleMatch } from '../../src/engine/rules/types.js';
import { makeRule, scan } from './make-pack.js';

const noWords = (): never => {
  throw new Error('no pattern here has word lists');
};

/** A pack whose patterns are known to compile, and the sources that were compiled so far. */
function compileLazyPack(match: RuleMatch): { readonly pack: CompiledPack; readonly compiled: readonly string[] } {
  const compiled: string[] = [];
  // With memory of its own: a warm-up stops where other tests have filled it.
  const re2 = createRe2Compiler(64);
  const compiler = {
    ...re2,
    compile: (source: string) => {
      compiled.push(source);
      return re2.compile(source);
    },
  };
  const layer = { name: 'p', version: '1.0.0', words: {}, rules: [makeRule({ match })] };
  const head = { name: 'p', rulesVersion: '1', threshold: 0.5, paranoia: 1 } as const;
  return { pack: compilePack({ ...head, isChecked: true, allow: [], layers: [layer] }, compiler), compiled };
}

describe('patterns that are known to compile', () => {
  it('are compiled when a text first needs them', () => {
    const { pack, compiled } = compileLazyPack({ any: ['ignore rules'] });
    expect(scan(pack, 'follow the rules').findings).toHaveLength(0);
    expect(compiled).toHaveLength(0);
    expect(scan(pack, 'ignore rules').findings).toHaveLength(1);
    expect(compiled).toHaveLength(1);
  });

  it('are compiled by a warm-up, and not again by a text', () => {
    const { pack, compiled } = compileLazyPack({ any: ['ignore rules'] });
    pack.warmUp();
    expect(compiled).toHaveLength(1);
    expect(scan(pack, 'ignore rules').findings).toHaveLength(1);
    expect(compiled).toHaveLength(1);
  });

  it('are compiled one after the other as long as a warm-up has time', () => {
    const { pack, compiled } = compileLazyPack({
      any: ['ignore rules', 'follow orders', 'send (?:[\\pL\\pM]{1,12} ){0,3}password'],
    });
    expect(pack.warmUpRest?.(() => false)).toBe(false);
    expect(compiled).toHaveLength(1);
    expect(pack.warmUpRest?.(() => true)).toBe(true);
    expect(compiled).toHaveLength(3);
    scan(pack, 'ignore rules, follow orders, send me the password \u{1f600}');
    expect(compiled).toHaveLength(3);
  });
});

describe('a screen in place of a pattern with all letters and marks', () => {
  const SOURCE = 'send (?:[\\pL\\pM]{1,12} ){0,3}password';

  it.each([
    ['send it. Your password', 0],
    ['send me the password', 1],
    ['send me the one and only password', 0],
    ['send \u043c\u043d\u0435 the password', 1],
    ['send \u0939\u093f\u0928\u094d\u0926\u0940 password', 1],
    ['send me the password \u{1f600}', 1],
    ['send \u{1f600} the password', 0],
    ['send \u3002\u3002 password', 0],
    ['send \uffff password', 0],
  ])('is all that is compiled: %s', (text, findings) => {
    const { pack, compiled } = compileLazyPack({ any: [SOURCE] });
    expect(scan(pack, text).findings).toHaveLength(findings);
    expect(compiled).toHaveLength(1);
  });

  it.each([
    [SOURCE, true],
    ["[\\pL\\pM']{1,12} \u043f\u0430\u0440\u043e\u043b\u044c \\W.[^a]", true],
    ['[\\pL\\pM] \u3002', false],
    ['[\\pL\\pM] [\u0430-\u044f]', true],
    ['[\\pL\\pM] [\u00a0-\u00ff]', false],
    ['[\\pL\\pM] [^\\pL\\pN]', false],
    ['[\\pL] password', false],
  ])('exists where no other part of a pattern reads other signs: %s', (source, expected) => {
    const result = preparePattern(source, 'raw', noWords);
    expect(result.ok && result.pattern.screen !== undefined).toBe(expected);
  });

  it('finds what the pattern finds', () => {
    const compiled = (source: string, isScreened: boolean): Pattern => {
      const result = preparePattern(source, 'raw', noWords);
      if (!result.ok) throw new Error(source);
      return compileLazily({ ...result.pattern, frequency: 0, alternatives: [] }, re2Compiler, isScreened);
    };
    const sign = fc.constantFrom(
      'a',
      'b ',
      ' ',
      '\u044f',
      '\u0940',
      '\u0663',
      '\u3002',
      '\u{1f600}',
      '\u{20000}',
      '\uffff',
      '!',
    );
    const text = fc.array(sign, { maxLength: 30 }).map((signs) => signs.join(''));
    for (const source of ['a[\\pL\\pM]{1,3} ', '[\\pL\\pM]+', '[\\pL\\pM!]{2}[^a]?.', '(?:[\\pL\\pM]{1,2} ){0,2}a']) {
      const [fast, plain] = [compiled(source, true), compiled(source, false)];
      fc.assert(
        fc.property(text, (given) => {
          const subject = re2Compiler.prepare(given);
          const whole = { start: 0, end: given.length };
          expect(fast.findAll(subject, 99)).toEqual(plain.findAll(subject, 99));
          expect(fast.occursIn(subject, whole)).toBe(plain.occursIn(subject, whole));
        }),
      );
    }
  });
});
