import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { createEngine, findModel, loadModel, type Verdict } from '../../src/index.js';
import { type BenignRecord, type FalsePositive, type FalsePositives, nextRecord, worseThan } from './benign-record.js';
import { type BenignText, benignTexts } from './benign-texts.js';

// The gate on false positives; scripts/proofs/regression.mjs says how to call it. Runs in the root of the checkout.

const RECORD = 'test/regression/benign-record.json';
const { values } = parseArgs({
  options: { update: { type: 'boolean' }, reason: { type: 'string' }, model: { type: 'string' } },
});
if (values.update && !values.reason?.trim()) throw new Error('An update needs its reason: --reason "..."');
if (values.update && values.model !== undefined) throw new Error('The record is of the model of the package');

const folder = values.model ?? findModel();
if (folder === undefined) throw new Error('No model is installed: the gate judges rules and model together');
const engine = createEngine({ model: await loadModel(folder) });

const falsePositiveOf = ({ id }: BenignText, { verdict, rule, score, threshold }: Verdict): readonly FalsePositive[] =>
  verdict === 'block' ? [{ id, rule, margin: score - threshold }] : [];

const falsePositivesOn = async (texts: readonly BenignText[]): Promise<FalsePositives> => {
  const rules: FalsePositive[] = [];
  const both: FalsePositive[] = [];
  for (const text of texts) {
    rules.push(...falsePositiveOf(text, engine.scan(text.text)));
    const verdict = await engine.analyze(text.text, { mode: 'hybrid', timeoutMs: 60_000 });
    if (verdict.decided_by === 'ml-error-rules-fallback') throw new Error('the model gave no score');
    both.push(...falsePositiveOf(text, verdict));
  }
  return { rules, both };
};

const texts = benignTexts('test/regression/benign');
const falsePositives = await falsePositivesOn(texts);
const { rules_version, ml_version } = engine.info;
await engine.close();

const percent = (count: number, all: number): string => `${((100 * count) / all).toFixed(2)} %`;
for (const kind of [...new Set(texts.map((text) => text.kind))].sort()) {
  const ids = new Set(texts.filter((text) => text.kind === kind).map(({ id }) => id));
  const [rules, both] = [falsePositives.rules, falsePositives.both].map(
    (side) => side.filter(({ id }) => ids.has(id)).length,
  );
  console.log(`${kind.padEnd(10)} ${String(ids.size).padStart(5)} texts, rules ${rules}, rules and model ${both}`);
}
console.log(
  `${texts.length} benign texts: rules block ${falsePositives.rules.length} (${percent(falsePositives.rules.length, texts.length)}), ` +
    `rules and model ${falsePositives.both.length} (${percent(falsePositives.both.length, texts.length)})`,
);

const record = existsSync(RECORD) ? (JSON.parse(readFileSync(RECORD, 'utf8')) as BenignRecord) : undefined;
if (values.update) {
  const entry = {
    date: new Date().toISOString().slice(0, 10),
    versions: `${rules_version}, ${ml_version}`,
    reason: values.reason ?? '',
  };
  writeFileSync(RECORD, `${JSON.stringify(nextRecord(record, texts, falsePositives, entry), null, 2)}\n`);
} else if (values.model !== undefined) {
  console.log('Not compared with the record, which is of the model of the package');
} else if (record === undefined) {
  throw new Error(`${RECORD} is missing: npm run regression -- --update --reason "..."`);
} else {
  const faults = worseThan(record, texts, falsePositives);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) {
    console.error('Fix the rule or the model; or, with a reason: npm run regression -- --update --reason "..."');
    process.exitCode = 1;
  }
}
