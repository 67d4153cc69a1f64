import type { CompiledPack, Finding, Rule } from '../../src/engine/rules/types.js';

const rule = (id: string, score: number, description: string): Rule => ({
  id,
  version: '1.0.0',
  title: id,
  description,
  status: 'stable',
  severity: 'high',
  paranoia: 1,
  score,
  languages: ['en'],
  tags: [],
  views: ['folded'],
  channels: [],
  match: { any: [] },
  except: [],
  examples: { positive: [], negative: [], todo_positive: [], todo_negative: [] },
  falsePositives: [],
  references: [],
});

const RULES = [
  { rule: rule('test.strong', 0.9, 'Detects a call for the end of the world.'), word: 'armageddon' },
  { rule: rule('test.weak', 0.3, 'Detects a weak sign.'), word: 'hmm' },
  { rule: rule('test.faint', 0.1, 'Detects a fainter sign.'), word: 'mumble' },
];

/** A pack of three rules, a word each, that needs no regular expressions. Threshold 0.5. */
export const stubPack: CompiledPack = {
  name: 'stub',
  packs: [{ name: 'stub', version: '0.0.1', rules: 3 }],
  rulesVersion: '0.0.1+000000000000',
  threshold: 0.5,
  paranoia: 1,
  rules: RULES.map((one) => one.rule),
  size: { patterns: 3, literals: 0 },
  warmUp: () => true,
  nearMisses: () => [],
  withChange: () => stubPack,
  scan(views) {
    const findings: Finding[] = [];
    for (const view of views) {
      if (view.kind === 'raw') continue;
      for (const { rule: found, word } of RULES) {
        const start = view.text.indexOf(word);
        if (start < 0) continue;
        const shown = { start, end: start + word.length };
        const span = view.map.toInput(shown);
        const { kind, chain } = view;
        findings.push({ rule: found.id, severity: found.severity, score: found.score, span, view: kind, chain, shown });
      }
    }
    const best = findings.toSorted((a, b) => b.score - a.score)[0];
    const cluster = best === undefined ? [] : [best.rule];
    return { score: best?.score ?? 0, rule: best?.rule, cluster, findings, shadow: [] };
  },
};
