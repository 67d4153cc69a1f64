import { readFileSync } from 'node:fs';
import type { Engine } from '../src/index.js';

const paragraphs = (file: string): readonly string[] =>
  readFileSync(file, 'utf8')
    .split(/\n\s*\n/)
    .map((text) => text.trim())
    .filter((text) => text !== '');

/**
 * Checks the answers before anything is timed: a fast engine that finds nothing proves nothing.
 * @throws Error that names the first wrong answer by its file and number
 */
export async function checkAnswers(engine: Engine): Promise<number> {
  const expectations = [
    { file: 'bench/texts/attacks.txt', verdict: 'block' },
    { file: 'bench/texts/benign.txt', verdict: 'allow' },
  ] as const;
  let checked = 0;
  for (const { file, verdict } of expectations) {
    for (const [at, text] of paragraphs(file).entries()) {
      const scanned = engine.scan(text, { explain: true });
      const analyzed = await engine.analyze(text);
      if (scanned.verdict !== verdict)
        throw new Error(`${file}, paragraph ${at + 1}: ${scanned.verdict}, not ${verdict}`);
      if (analyzed.verdict !== verdict) throw new Error(`${file}, paragraph ${at + 1}: analyze and scan differ`);
      for (const { span, rule } of scanned.explanation.findings) {
        if (!(0 <= span.start && span.start < span.end && span.end <= text.length)) {
          throw new Error(`${file}, paragraph ${at + 1}: a span of ${rule} lies outside the text`);
        }
      }
      checked += 1;
    }
  }
  return checked;
}
