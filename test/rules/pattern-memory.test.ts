import type RE2 from 're2';
import { describe, expect, it } from 'vitest';
import { createPatternMemory } from '../../src/adapters/re2/pattern-memory.js';
import { createRe2Compiler } from '../../src/adapters/re2/re2-compiler.js';
import { openEngine } from '../../src/cli/engine-flags.js';
import { compilePack } from '../../src/engine/rules/compile-pack.js';
import type { CompiledPack } from '../../src/engine/rules/types.js';
import { createEngine } from '../../src/index.js';
import { openWorkerEngine } from '../../src/workers/serve-engine.js';
import { makePack, makeRule, scan } from './make-pack.js';

const MEBIBYTE = 2 ** 20;

/** A pattern of some 100 kB by estimate, and a text that it matches. */
const sourceOf = (n: number): string => `${`word${n} `.repeat(120)}\\d`;
const textOf = (n: number): string => `é ${`word${n} `.repeat(120)}7`;

describe('the memory of compiled patterns', () => {
  it('drops what was not used lately, and compiles it again when it is needed', () => {
    const compiled: string[] = [];
    const memory = createPatternMemory(1);
    const hold = (name: string) =>
      memory.hold('x'.repeat(4_000), () => {
        compiled.push(name);
        return {} as RE2;
      });
    const [first, second] = [hold('first'), hold('second')];
    second.toRead(1);
    first.toRead(1);
    hold('third');
    first.toRead(1);
    expect(compiled).toEqual(['first', 'second', 'third']);
    second.toRead(1);
    expect(compiled).toEqual(['first', 'second', 'third', 'second']);
    expect(memory.use).toEqual({ limitMb: 1, usedMb: 1 });
  });

  it.each([
    ['reads', 0, 3_000_000, false],
    ['matches', 4_000, 1, true],
  ] as const)('counts a pattern higher after what it %s', (_, length, bytes, hasMatched) => {
    let compiled = 0;
    const memory = createPatternMemory(1);
    const hold = () =>
      memory.hold('x'.repeat(length), () => {
        compiled += 1;
        return {} as RE2;
      });
    const [one, other] = [hold(), hold()];
    one.toRead(1);
    expect(compiled).toBe(2);
    for (const pattern of [one, other]) {
      if (hasMatched) pattern.matched();
      pattern.toRead(bytes);
    }
    one.toRead(1);
    expect(compiled).toBeGreaterThan(2);
  });

  it('finds the same with little memory as with much', () => {
    const [little, much] = [createRe2Compiler(1), createRe2Compiler(1_000)];
    const numbers = Array.from({ length: 12 }, (_, n) => n);
    const patterns = numbers.map((n) => [little.compile(sourceOf(n)), much.compile(sourceOf(n))] as const);
    for (const n of [...numbers, ...numbers]) {
      const subject = little.prepare(textOf(n));
      const whole = { start: 0, end: subject.text.length };
      const [bounded, free] = patterns[n] as (typeof patterns)[number];
      expect(bounded.findAll(subject, 9)).toEqual(free.findAll(subject, 9));
      expect(bounded.occursIn(subject, whole)).toBe(true);
      expect(little.memory?.usedMb).toBeLessThanOrEqual(1);
    }
    expect(much.memory?.usedMb).toBeGreaterThan(1);
  });

  it('is freed when it is dropped', () => {
    const compiler = createRe2Compiler(16);
    const before = process.memoryUsage.rss();
    const words = Array.from({ length: 300 }, (_, n) => `w${n * 7919}`).join('|');
    for (let n = 0; n < 250; n += 1)
      compiler.compile(`(?:${words}|x${n}) (?:${words}){1,4}`).findAll(compiler.prepare('w0 w0'), 1);
    // Held all at once they take some 300 MB.
    expect((process.memoryUsage.rss() - before) / MEBIBYTE).toBeLessThan(150);
  }, 60_000);
});

describe('a pack within a bound of memory', () => {
  const rules = Array.from({ length: 12 }, (_, n) => makeRule({ id: `test.r${n}`, match: { any: [sourceOf(n)] } }));
  const within = (memoryMb: number): CompiledPack =>
    compilePack({ ...makePack(rules), isChecked: true }, createRe2Compiler(memoryMb));

  it('finds what it finds without', () => {
    const [little, much] = [within(1), within(1_000)];
    for (const [n] of [...rules.entries(), ...rules.entries()]) {
      const found = scan(little, textOf(n));
      expect(found.findings).toHaveLength(1);
      expect(found).toEqual(scan(much, textOf(n)));
    }
    expect(little.memory?.usedMb).toBe(1);
    expect(much.memory?.usedMb).toBeGreaterThan(1);
  });

  it('ends a warm-up before it would drop what it has compiled, and stands in the info of an engine', () => {
    const little = within(1);
    expect(little.warmUpRest?.(() => true)).toBe(true);
    const { info } = createEngine({ pack: little });
    expect(info).toMatchObject({ regex_memory_limit_mb: 1, regex_memory_mb: 1 });
  });

  it('is bounded in a worker and by a flag, too', async () => {
    const parts = { mode: 'rules', model: false } as const;
    const worker = await openWorkerEngine({ ...parts, limits: { regexMemoryMb: 7 } });
    expect(worker.engine.info.regex_memory_limit_mb).toBe(7);
    const { info } = await openEngine({ mode: 'rules', regexMemory: 8 });
    expect(info.regex_memory_limit_mb).toBe(8);
  });
});
