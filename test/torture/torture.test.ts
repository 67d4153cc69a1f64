import { afterAll, expect, test } from 'vitest';
import { defaultEngine } from '../../src/index.js';
import { answerFaults } from './answer-faults.js';
import { bigTexts } from './big-texts.js';
import { exampleTexts } from './example-texts.js';
import { randomFrom, strangeTexts } from './strange-texts.js';

// The short form of `npm run proof -- fuzz`.
const engine = await defaultEngine();
afterAll(() => engine.close());

test('4,000 random and mutated texts: no throw, spans inside the text and on whole characters', {
  timeout: 120_000,
}, () => {
  const failed: string[] = [];
  for (const text of strangeTexts(exampleTexts(), 4_000, randomFrom(20261121))) {
    const faults = answerFaults(engine, text);
    if (faults.length > 0) failed.push(`${JSON.stringify(text)}: ${faults.join('; ')}`);
  }
  expect(failed.slice(0, 5)).toEqual([]);
});

test.each(bigTexts(0.5).map((big) => [big.name, big] as const))(
  'half a million characters of %s',
  { timeout: 60_000 },
  (_name, big) => {
    expect(answerFaults(engine, big.make())).toEqual([]);
  },
);

test('the same text gives the same answer', () => {
  const answers = (): readonly unknown[] =>
    [...strangeTexts(exampleTexts(), 200, randomFrom(7))].map((text) => {
      const { verdict, score, rule, explanation } = engine.scan(text, { explain: true });
      return { verdict, score, rule, findings: explanation.findings };
    });
  expect(answers()).toEqual(answers());
});
