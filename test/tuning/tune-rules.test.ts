import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { NO_CORE } from '../../src/adapters/packs/load-pack.js';
import { openPack } from '../../src/adapters/packs/open-pack.js';
import { groupBootstrap, seededRandom } from '../../src/evaluation/metrics/bootstrap.js';
import type { LabelledText } from '../../src/evaluation/rows/labelled-text.js';
import { givenSplit, nearDuplicates, splitRows } from '../../src/evaluation/rows/split-rows.js';
import { changesOverlay } from '../../src/tuning/choose-changes.js';
import { type RulesTuning, tuneRules } from '../../src/tuning/tune-rules.js';
import { tuningMarkdown, tuningPage, tuningText } from '../../src/tuning/tuning-report.js';
import { runCli, runCommand } from '../cli/run-cli.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-rules-'));
afterAll(() => rmSync(folder, { recursive: true }));

const head = (id: string, status: string, score: number, pattern: string): string => `id: ${id}
version: 1.0.0
title: A rule for the test
description: Detects words for the test.
status: ${status}
severity: medium
score: ${score}
tags: [owasp:LLM01]
match: { any: ['${pattern}'] }
`;
const rules = {
  'test.good': head('test.good', 'stable', 0.9, '\\bopen the vault\\b'),
  'test.weak': head('test.weak', 'stable', 0.3, '\\bobey the parrot\\b'),
  'test.shadow': head('test.shadow', 'experimental', 0.6, '\\bwake the golem\\b'),
  'test.noisy': head('test.noisy', 'stable', 0.6, '\\bquarterly\\b'),
  'test.chance': head('test.chance', 'experimental', 0.6, '\\bpaint the fence\\b'),
};
const pack = join(folder, 'pack');
mkdirSync(join(pack, 'test'), { recursive: true });
writeFileSync(
  join(pack, 'pack.yaml'),
  'name: t\nversion: 1.0.0\ndescription: d\nlicence: MIT\nthreshold: 0.5\nparanoia: 1\n',
);
for (const [id, yaml] of Object.entries(rules)) writeFileSync(join(pack, `${id.replace('.', '/')}.yaml`), yaml);

// Words by number, so that no two texts are near duplicates of one another.
const words = 'amber basil cedar delta ember fjord grove haven inlet jolly karma lemon maple north ocean pearl'.split(
  ' ',
);
const filler = (seed: number): string => {
  const random = seededRandom(seed);
  return Array.from({ length: 9 }, () => words[Math.floor(random() * words.length)]).join(' ');
};
const row = (i: number, phrase: string, label: LabelledText['label']): LabelledText => ({
  id: `${label}-${phrase}-${i}`,
  text: `${filler(i)} ${phrase} ${filler(i + 100_000)}`,
  label,
  source: 's',
  group: 'g',
  language: 'en',
  recorded: undefined,
});
const rows = (from: number): readonly LabelledText[] => [
  ...Array.from({ length: 30 }, (_, i) => row(from + i, 'open the vault', 'injection')),
  ...Array.from({ length: 30 }, (_, i) => row(from + 40 + i, 'obey the parrot', 'injection')),
  ...Array.from({ length: 30 }, (_, i) => row(from + 80 + i, 'wake the golem', 'injection')),
  ...Array.from({ length: 2 }, (_, i) => row(from + 120 + i, 'paint the fence', 'injection')),
  row(from + 130, 'quarterly', 'injection'),
  ...Array.from({ length: 12 }, (_, i) => row(from + 140 + i, 'quarterly', 'benign')),
  ...Array.from({ length: 120 }, (_, i) => row(from + 200 + i, 'tea', 'benign')),
];
const tuning: RulesTuning = {
  packs: [NO_CORE, pack],
  maxFpr: 0.01,
  support: 3,
  keepWeak: false,
  seed: 1,
  date: '2026-11-21',
  files: ['a.jsonl'],
};

describe('families', () => {
  it('near duplicates are one family, and what belongs together', () => {
    const host = filler(5).repeat(4);
    const found = nearDuplicates([
      { text: `${host} Meet at 10:30.` },
      { text: `${host.toUpperCase()}  meet at 11:45.` },
      { text: filler(77).repeat(4) },
      { text: 'short' },
      { text: 'other words', together: 'p1' },
      { text: 'entirely unlike', together: 'p1' },
      { text: '' },
    ]);
    expect(found).toEqual([0, 0, 2, 3, 4, 4, 6]);
  });

  it('a split never parts a family, and is the same for the same seed', () => {
    const twice = [...rows(0), ...rows(0).map((text) => ({ ...text, text: `${text.text}!`, id: `${text.id}-b` }))];
    const { choose, confirm } = splitRows(twice, 0.5, 7);
    const chosen = new Set(choose.map(({ family }) => family));
    expect(confirm.filter(({ family }) => chosen.has(family))).toEqual([]);
    expect(Math.min(choose.length, confirm.length)).toBeGreaterThan(150);
    expect(splitRows(twice, 0.5, 7)).toEqual({ choose, confirm, straddling: 0 });
    expect(splitRows(twice, 0.5, 8).choose).not.toEqual(choose);
  });

  it('given parts lose what straddles them', () => {
    const [first] = rows(0);
    const { confirm, straddling } = givenSplit(rows(0), [{ ...first!, text: `${first!.text} ` }, ...rows(1_000)]);
    expect([confirm.length, straddling]).toEqual([rows(1_000).length, 1]);
  });
});

describe('the bootstrap by family', () => {
  it('is wider where the same evidence lies in fewer families', () => {
    const texts = (of: (i: number) => number) =>
      Array.from({ length: 400 }, (_, i) => ({ isAttack: true, family: of(i), before: false, after: of(i) % 4 === 0 }));
    const wide = groupBootstrap(
      texts((i) => i % 20),
      500,
      1,
    ).recall;
    const narrow = groupBootstrap(
      texts((i) => i),
      500,
      1,
    ).recall;
    expect([wide.value, narrow.value]).toEqual([0.25, 0.25]);
    const [from, to] = narrow.interval;
    // The normal approximation: 0.25 +- 1.96 sqrt(0.25 * 0.75 / 400).
    expect(from).toBeCloseTo(0.2076, 1);
    expect(to).toBeCloseTo(0.2924, 1);
    expect(wide.interval[1] - wide.interval[0]).toBeGreaterThan(2 * (to - from));
  });
});

describe('tuning on labelled texts', () => {
  it('promotes, raises and demotes what the evidence bears, and leaves chance alone', async () => {
    const tuned = await tuneRules(givenSplit(rows(0), rows(1_000)), tuning);
    expect(tuned.changes.map(({ rule, kind, attacks, benign }) => [rule, kind, attacks, benign])).toEqual([
      ['test.noisy', 'lower', -1, -12],
      ['test.shadow', 'promote', 30, 0],
      ['test.weak', 'raise', 30, 0],
    ]);
    expect(tuned).toMatchObject({
      schema: 'portcullis.tuning/1',
      isConfirmed: true,
      rescoredOtherwise: 0,
      choose: { attacks: 93, benign: 132 },
      confirm: {
        before: { truePositives: 31, falsePositives: 12 },
        after: { truePositives: 90, falsePositives: 0 },
      },
    });
    const { recall } = tuned.confirm.gains;
    expect(recall.value).toBeCloseTo(59 / 93, 12);
    expect(recall.interval[0]).toBeGreaterThan(0.5);
    const figures = Object.fromEntries(tuned.rules.map((one) => [one.rule, one]));
    expect(figures['test.noisy']).toMatchObject({
      hits: { attacks: 1, benign: 12 },
      unique: { attacks: 1, benign: 12 },
      marginal: { attacks: 1, benign: 12, recall: 1 / 93, falsePositiveRate: 12 / 132 },
      precision: 1 / 13,
      redundantWith: null,
    });
    // In shadow: what it would block if it counted.
    expect(figures['test.shadow']).toMatchObject({ status: 'experimental', marginal: { attacks: 30, benign: 0 } });
    expect(figures['test.good']!.micros).toBeGreaterThan(0);

    const overlay = join(folder, 'overlay.yaml');
    writeFileSync(overlay, changesOverlay(tuned.changes));
    const changed = openPack({ packs: [NO_CORE, pack], overlays: [overlay] });
    expect(changed.rules.map(({ id, status, score }) => [id, status, score])).toEqual([
      ['test.chance', 'experimental', 0.6],
      ['test.good', 'stable', 0.9],
      ['test.noisy', 'stable', 0.45],
      ['test.shadow', 'stable', 0.6],
      ['test.weak', 'stable', 0.5],
    ]);
    expect(changed.rulesVersion).not.toBe(openPack({ packs: [NO_CORE, pack] }).rulesVersion);
    for (const page of [tuningText(tuned), tuningMarkdown(tuned), tuningPage(tuned)]) {
      expect(page).toContain('test.shadow');
      expect(page).toContain('confirmed on');
    }
    expect(tuningPage(tuned)).not.toMatch(/https?:/);
  });

  it('keeps weak signals weak where it is asked to', async () => {
    const tuned = await tuneRules(givenSplit(rows(0), rows(1_000)), { ...tuning, keepWeak: true });
    expect(tuned.changes.map(({ rule }) => rule)).toEqual(['test.noisy', 'test.shadow']);
  });

  it('does not confirm what the other part contradicts', async () => {
    const contradicting = rows(1_000).map((text) =>
      text.text.includes('golem') ? { ...text, label: 'benign' as const } : text,
    );
    const tuned = await tuneRules(givenSplit(rows(0), contradicting), tuning);
    expect(tuned.isConfirmed).toBe(false);
    expect(tuned.confirm.after.falsePositives).toBe(30);
  });

  it('says what is missing', async () => {
    const attacks = rows(0).filter(({ label }) => label === 'injection');
    await expect(tuneRules(givenSplit(attacks, rows(1_000)), tuning)).rejects.toThrow('no benign text to choose on');
  });
});

describe('portcullis tune', () => {
  const file = join(folder, 'labelled.jsonl');
  writeFileSync(
    file,
    [...rows(0), ...rows(1_000)].map(({ id, text, label }) => `${JSON.stringify({ id, text, label })}\n`).join(''),
  );

  it('splits, writes an overlay that analyze loads, and all reports', async () => {
    const out = join(folder, 'out.yaml');
    const html = join(folder, 'out.html');
    const asked = 'wake the golem';
    const before = await runCommand(['analyze', '--mode', 'rules', '--no-core', '--pack', pack, asked]);
    const run = runCli(['tune', file, '--no-core', '--pack', pack, '--max-fpr', '0.01', '--out', out, '--html', html]);
    expect(run).toMatchObject({ status: 0, stderr: '' });
    expect(run.stdout).toContain('test.shadow');
    expect(readFileSync(out, 'utf8')).toMatch(/^# portcullis tune, .* budget 1.00 %/);
    const after = await runCommand([
      'analyze',
      '--mode',
      'rules',
      '--no-core',
      '--pack',
      pack,
      '--overlay',
      out,
      asked,
    ]);
    expect([before.status, after.status]).toEqual([0, 1]);
    expect(readFileSync(html, 'utf8')).toContain('<svg');
  });

  it.each([
    [['tune', 'x.jsonl'], /--max-fpr/],
    [['tune', '--max-fpr', '0.01'], /Give labelled texts/],
    [['tune', '--max-fpr', '0.01', '--choose', 'x.jsonl'], /both --choose and --confirm/],
    [['tune', '--max-fpr', '0.01', '--out', 'x.json', 'x.jsonl'], /\.yaml/],
    [['tune', '--max-fpr', '2', 'x.jsonl'], /from 0 to 1/],
    [['tune', '--benign-only', '--max-fpr', '0.1', 'x.jsonl'], /leave out --benign-only/],
    [['tune', '--benign-only'], /Give files/],
  ])('%j', async (args, message) => {
    const run = await runCommand(args);
    expect(run.status).toBe(2);
    expect(run.stderr).toMatch(message);
  });
});
