import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { type Channel, createEngine, type Engine, findModel, loadModel } from '../src/index.js';
import { type DetectionRecord, detectionPage, type SourceRate } from './detection-page.js';

// How much the rules find on labelled texts, and how often they are wrong, by source.
// npm run bench -- detection --data FILE.jsonl [--mode hybrid] [--per 45] [--split dev] [--record NAME]
// `--mode hybrid` asks rules and model together, at the model's default operating point. A text that names its `channel` is judged on it
// (`data` is `tool_result`) with its `task`, and its source counts by channel.

interface Row {
  readonly text: string;
  readonly label: 'injection' | 'benign';
  readonly source: string;
  readonly channel?: Channel | 'data';
  readonly task?: string;
  readonly split?: string;
}

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    per: { type: 'string' },
    split: { type: 'string' },
    mode: { type: 'string', default: 'rules' },
    record: { type: 'string' },
  },
});
if (values.data === undefined) throw new Error('Name the labelled texts: --data FILE.jsonl');
const hybrid = values.mode === 'hybrid';
const most = values.per === undefined ? Number.POSITIVE_INFINITY : Number(values.per);

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** At most `most` rows of each source and label, chosen by the digest of their text: the same ones in each run. */
const chosenRows = (rows: readonly Row[]): readonly Row[] => {
  const taken = new Map<string, number>();
  return rows
    .map((row) => ({ row, key: digest(row.text) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .filter(({ row }) => {
      const group = `${row.source}\n${row.label}`;
      const count = (taken.get(group) ?? 0) + 1;
      taken.set(group, count);
      return count <= most;
    })
    .map(({ row }) => row);
};

const rates = async (engine: Engine, rows: readonly Row[]): Promise<readonly SourceRate[]> => {
  const groups = new Map<string, { source: string; label: Row['label']; n: number; blocked: number }>();
  for (const { text, label, source: name, channel: whose, task } of rows) {
    const channel = whose === 'data' ? 'tool_result' : whose;
    const source = whose === undefined ? name : `${name} (${whose})`;
    const key = `${source}\n${label}`;
    const group = groups.get(key) ?? { source, label, n: 0, blocked: 0 };
    group.n += 1;
    const verdict = hybrid ? await engine.analyze(text, { channel, task }) : engine.scan(text, { channel });
    if (verdict.decided_by === 'ml-error-rules-fallback') throw new Error('the model gave no answer');
    if (verdict.verdict === 'block') group.blocked += 1;
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => a.label.localeCompare(b.label) || a.source.localeCompare(b.source));
};

const rows = readFileSync(values.data, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Row)
  .filter(({ split }) => values.split === undefined || split === values.split);
const model = hybrid ? await loadModel(findModel() ?? 'models/portcullis-minilm-1') : false;
const engine = createEngine({ model, timeoutMs: 120_000 });
const record: DetectionRecord = {
  date: new Date().toISOString().slice(0, 10),
  data: basename(values.data),
  per: Number.isFinite(most) ? most : null,
  rulesVersion: engine.info.rules_version,
  threshold: engine.info.rules_threshold,
  ...(hybrid && {
    judge: 'rules and model',
    modelVersion: engine.info.ml_version,
    modelThreshold: engine.info.ml_threshold,
  }),
  sources: await rates(engine, chosenRows(rows)),
};
await engine.close();
console.log(detectionPage(record));
if (values.record !== undefined) {
  mkdirSync('bench/record', { recursive: true });
  writeFileSync(`bench/record/${values.record}.md`, detectionPage(record));
}
