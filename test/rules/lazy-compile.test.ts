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
    // The exact form of a slow pattern, where its screen matches, and nothing else.
    scan(pack, 'ignore rules, follow orders, send me the password');
    expect(compiled).toHaveLength(4);
  });

  it('are screened by a cheap pattern where they are slow to compile', () => {
    const { pack, compiled } = compileLazyPack({ any: ['send (?:[\\pL]{1,12} ){0,3}password'] });
    expect(scan(pack, 'send it. Your password').findings).toHaveLength(0);
    expect(compiled).toHaveLength(1);
    expect(scan(pack, 'send me the password').findings).toHaveLength(1);
    expect(scan(pack, 'send me the one and only password').findings).toHaveLength(0);
    expect(compiled).toHaveLength(2);
    expect(compiled[0]).not.toBe(compiled[1]);
  });
});
