import type { Engine } from '../../src/index.js';

const splitsPair = (text: string, offset: number): boolean =>
  /[\ud800-\udbff]/.test(text.charAt(offset - 1)) && /[\udc00-\udfff]/.test(text.charAt(offset));

/** What is wrong with the engine's answer to a text, in words without the text; empty when all is well. */
export function answerFaults(engine: Engine, text: string): readonly string[] {
  const { explanation, ...verdict } = engine.scan(text, { explain: true });
  const faults: string[] = [];
  const unitFields = [verdict.score, verdict.threshold, verdict.confidence];
  if (unitFields.some((value) => !(value >= 0 && value <= 1))) faults.push('a score outside 0..1');
  if ((verdict.verdict === 'block') !== verdict.score >= verdict.threshold) faults.push('verdict and score disagree');
  if (verdict.confidence !== verdict.score) faults.push('confidence is not the score');
  if ((verdict.rule === 'none') !== (verdict.verdict === 'allow')) faults.push('rule and verdict disagree');
  for (const { rule, span } of explanation.findings) {
    const { start, end } = span;
    const inside = Number.isInteger(start) && Number.isInteger(end) && 0 <= start && start < end && end <= text.length;
    if (!inside) faults.push(`${rule}: span ${start}-${end} outside 0-${text.length}`);
    else if (splitsPair(text, start) || splitsPair(text, end))
      faults.push(`${rule}: span ${start}-${end} cuts a character`);
  }
  return faults;
}
