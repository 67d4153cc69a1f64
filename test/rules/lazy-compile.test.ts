import { afterEach, expect, it, vi } from 'vitest';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import { ProgramWriter } from '../../src/engine/rules/matcher/programs.js';
import type { CompiledPack, RuleMatch } from '../../src/engine/rules/types.js';
import { makeRule, scan } from './make-pack.js';

afterEach(() => vi.restoreAllMocks());

/** A pack whose patterns are known to compile. */
function lazyPack(match: RuleMatch): CompiledPack {
  const layer = { name: 'p', version: '1.0.0', words: {}, rules: [makeRule({ match })] };
  const head = { name: 'p', rulesVersion: '1', threshold: 0.5, paranoia: 1 } as const;
  return compilePack({ ...head, isChecked: true, allow: [], layers: [layer] });
}

it('compiles a pattern when a text first needs it', () => {
  const compile = vi.spyOn(ProgramWriter.prototype, 'add');
  const pack = lazyPack({ any: ['ignore rules'] });
  expect(scan(pack, 'follow the rules').findings).toHaveLength(0);
  expect(compile).toHaveBeenCalledTimes(0);
  for (let i = 0; i < 2; i++) expect(scan(pack, 'ignore rules').findings).toHaveLength(1);
  expect(compile).toHaveBeenCalledTimes(1);
});

it('compiles patterns one after the other as long as a warm-up has time, and none again', () => {
  const compile = vi.spyOn(ProgramWriter.prototype, 'add');
  const pack = lazyPack({ any: ['ignore rules', 'follow orders', 'send (?:[\\pL\\pM]{1,12} ){0,3}password'] });
  expect(pack.warmUp(() => false)).toBe(false);
  expect(compile).toHaveBeenCalledTimes(1);
  expect(pack.warmUp(() => true)).toBe(true);
  expect(compile).toHaveBeenCalledTimes(3);
  scan(pack, 'ignore rules, follow orders, send me the password \u{1f600}');
  expect(compile).toHaveBeenCalledTimes(3);
});

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
])('tells letters and marks from other signs: %s', (text, findings) => {
  const pack = lazyPack({ any: ['send (?:[\\pL\\pM]{1,12} ){0,3}password'] });
  expect(scan(pack, text).findings).toHaveLength(findings);
});
