// npm run bench -- files [--mode hybrid] [--half 0|1] [--skip N] [--limit N] [--out FILE.jsonl] FOLDER...: how many of the text files under some
// folders are blocked, and by which rule. Real code and documentation is benign: each block is a false positive, or a file about attacks.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { createEngine, defaultEngine } from '../src/index.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mode: { type: 'string', default: 'rules' },
    half: { type: 'string' },
    skip: { type: 'string', default: '0' },
    limit: { type: 'string', default: '1000000' },
    out: { type: 'string' },
  },
});
if (positionals.length === 0) throw new Error('name at least one folder');

const TEXT =
  /\.(?:md|rst|txt|html?|json|ya?ml|toml|cfg|ini|conf|py|[cm]?[jt]s|sh|pl|el|c|h|css|xml|[1378]|po|tex|csv|sql|go|rs|java|rb)$/i;
const LONGEST = 150_000;

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');
/** A fixed shuffle: the halves are the same on each machine, and neighbours fall apart. */
const files = positionals
  .flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && TEXT.test(entry.name))
      .map((entry) => join(entry.parentPath, entry.name)),
  )
  .map((name) => ({ name, key: digest(name) }))
  .filter(({ key }) => values.half === undefined || Number.parseInt(key[0] ?? '0', 16) % 2 === Number(values.half))
  .sort((a, b) => (a.key < b.key ? -1 : 1))
  .slice(Number(values.skip), Number(values.skip) + Number(values.limit));

const engine = values.mode === 'hybrid' ? await defaultEngine() : createEngine({ model: false });
const seen = new Set<string>();
const byRule = new Map<string, number>();
const blocked: string[] = [];
for (const { name } of files) {
  if (statSync(name).size > LONGEST) continue;
  const text = readFileSync(name, 'utf8');
  const key = digest(text);
  if (text.trim() === '' || seen.has(key)) continue;
  seen.add(key);
  const { verdict, rule, score, explanation } = await engine.analyze(text, { explain: true });
  if (verdict === 'allow') continue;
  byRule.set(rule, (byRule.get(rule) ?? 0) + 1);
  const findings = explanation.findings.map(({ rule, score, span }) => ({
    rule,
    score,
    text: `${text.slice(Math.max(0, span.start - 120), span.start)}⟦${text.slice(span.start, span.end)}⟧${text.slice(span.end, span.end + 80)}`,
  }));
  blocked.push(JSON.stringify({ file: name, rule, score, findings }));
}
await engine.close();
if (values.out !== undefined) writeFileSync(values.out, `${blocked.join('\n')}\n`);
console.log(`${seen.size} files, ${blocked.length} blocked (${((100 * blocked.length) / seen.size).toFixed(2)} %)`);
for (const [rule, count] of [...byRule].sort((a, b) => b[1] - a[1]))
  console.log(`${String(count).padStart(5)} ${rule}`);
