import { writeFileSync } from 'node:fs';
import { it } from 'vitest';
import { loadPack } from '/work/wt/house/src/adapters/packs/load-pack.js';
import { readTags } from '/work/wt/house/src/adapters/packs/rules-data.js';
import { buildViews } from '/work/wt/house/src/engine/text/views.js';
import { lintPack } from '/work/wt/house/src/rule-authoring/lint/lint-pack.js';
it('x', () => {
  const { pack } = loadPack({ packs: ['rules/core'], today: '2026-01-01' });
  const rules = new Map(pack.layers.flatMap((l) => l.rules).map((r) => [r.id, r]));
  const out = lintPack(pack, { tags: readTags(), readViews: buildViews }).map((p) => {
    let v: any = rules.get(p.place.name);
    for (const k of p.place.path) v = v?.[k];
    return { code: p.code, rule: p.place.name, path: p.place.path, message: p.message, value: v };
  });
  writeFileSync('/tmp/lintall.json', JSON.stringify(out, null, 1));
}, 200000);
