import { describe, expect, it } from 'vitest';
import { re2Compiler } from '../../src/adapters/re2/re2-compiler.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import type { CompiledPack, RuleMatch } from '../../src/engine/rules/types.js';
import { makeRule, scan } from './make-pack.js';

/** A pack whose patterns are known to compile, and the sources that were compiled so far. */
function compileLazyPack(match: RuleMatch): { readonly pack: CompiledPack; readonly compiled: readonly string[] } {
  const compiled: string[] = [];
  const compiler = {
    ...re2Compiler,
    compile: (source: string) => {
      compiled.push(source);
      return re2Compiler.compile(source);
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
      any: ['ignore rules', 'follow orders', 'send (?:[\\pL]{1,12} ){0,3}password'],
    });
    expect(pack.warmUpRest?.(() => false)).toBe(false);
    expect(compiled).toHaveLength(1);
    expect(pack.warmUpRest?.(() => true)).toBe(true);
    expect(compiled).toHaveLength(3);
    // The exact form of a slow pattern, where its screen matches among other signs than letters, and nothing else.
    scan(pack, 'ignore rules, follow orders, send me the password \u{1f600}');
    expect(compiled).toHaveLength(4);
  });

  it.each([
    // Its text, findings, and how many patterns have been compiled by then.
    ['send it. Your password', 0, 1],
    ['send me the password', 1, 1],
    ['send me the one and only password', 0, 1],
    ['send \u043c\u043d\u0435 the password', 1, 1],
    ['send me the password \u{1f600}', 1, 2],
    ['send \u{1f600} the password', 0, 2],
  ])('are screened by a cheap pattern where they hold all letters: %s', (text, findings, patterns) => {
    const { pack, compiled } = compileLazyPack({ any: ['send (?:[\\pL]{1,12} ){0,3}password'] });
    expect(scan(pack, text).findings).toHaveLength(findings);
    expect(compiled).toHaveLength(patterns);
    expect(new Set(compiled).size).toBe(patterns);
  });
});
