import { readFileSync, writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { loadPack } from '/work/wt/house/src/adapters/packs/load-pack.js';
it('x', () => {
  const { pack } = loadPack({ packs: ['rules/core'], today: '2026-01-01' });
  const rules = new Map(pack.layers.flatMap((l) => l.rules).map((r) => [r.id, r]));
  const probs = JSON.parse(readFileSync('/tmp/lintall.json', 'utf8')).filter((p: any) => p.code === 'PACK067');
  let out = '';
  for (const id of new Set<string>(probs.map((p: any) => p.rule))) {
    const r = rules.get(id)!;
    out += `${id}\n  + ${r.examples.positive.map((e) => `${e.text} [${e.hit}]`).join(' ## ')}\n  - ${r.examples.negative.map((e) => e.text).join(' ## ')}\n`;
  }
  writeFileSync('/tmp/neg.txt', out);
});
