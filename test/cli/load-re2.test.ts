import { expect, test } from 'vitest';
import { loadRe2, NativeModuleError } from '../../src/adapters/re2/load-re2.js';

test('says how to mend a native module that is not there', () => {
  const fail = (): never => {
    throw new Error("Cannot find module './build/Release/re2.node'");
  };
  expect(() => loadRe2(fail)).toThrow(NativeModuleError);
  expect(() => loadRe2(fail)).toThrow(/npm rebuild re2.*allowScripts/s);
});

test('gives the constructor that is installed', () => {
  const RE2 = loadRe2();
  expect(new RE2('a+', 'u').test('baa')).toBe(true);
});
