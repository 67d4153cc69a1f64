import { afterEach, expect, it, vi } from 'vitest';
import { loadPack } from '../../../src/adapters/packs/load-pack.js';
import { overlayStack } from '../../../src/adapters/packs/overlay-stack.js';
import { ProgramWriter } from '../../../src/engine/rules/matcher/programs.js';
import { createEngine } from '../../../src/index.js';
import { accountOverlays } from '../../../src/service/screening/account-overlays.js';

const TODAY = '2026-11-22';
const { info } = createEngine({ mode: 'rules', model: false });
const stack = overlayStack(loadPack({ today: TODAY }), TODAY);
const nowhere = { put: async () => undefined, names: async () => [], get: async () => undefined };
const { parse } = accountOverlays(
  () => stack,
  info,
  nowhere,
  () => new Date(TODAY),
);
const overlay = (...patterns: readonly string[]): string =>
  JSON.stringify({ allow: patterns.map((pattern) => ({ pattern, reason: 'x', expires: '2027-01-01' })) });

afterEach(() => vi.restoreAllMocks());

// Compiling each takes a tenth of a second, and the service's thread waits for it.
it.each([
  ['200 patterns of a thousand copies', overlay(...Array.from({ length: 200 }, () => '\\pL{1,1000}x'))],
  ['one pattern of a thousand copies', overlay('\\pL{1000}')],
  ['counts that add up', overlay(...Array.from({ length: 11 }, () => '\\pL{50}'))],
  ['counts in counts', overlay('(?:\\pL{1,25}-){25}')],
  ['small counts in counts', overlay('(?:(?:\\pL{10}){10}x){6}')],
  ['counts in counts, without an end', overlay('(?:(?:\\pL{9})*x[)]){70,}')],
])('compiles nothing of an overlay with %s', (_, source) => {
  const compile = vi.spyOn(ProgramWriter.prototype, 'add');
  expect(() => parse(source)).toThrow(/repeat too much|at most 200 texts/);
  expect(compile).not.toHaveBeenCalled();
});

it.each([
  'order \\d{1,12}',
  'a{1,10} .{0,12}(?:b|c){2} \\p{Greek}{3,} [{\\]}]{9}',
  '(?:\\d{3}-)+\\d{4}',
  '[a-z]+@example\\.com',
])('takes the pattern %s', (pattern) => {
  const compile = vi.spyOn(ProgramWriter.prototype, 'add');
  expect(parse(overlay(pattern)).allow).toHaveLength(1);
  expect(compile).toHaveBeenCalled();
});
