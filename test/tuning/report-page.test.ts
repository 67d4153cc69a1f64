import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, expect, test } from 'vitest';
import { evaluationPage } from '../../src/evaluation/html/evaluation-page.js';
import { evaluate } from '../../src/evaluation/report/evaluation.js';
import type { Scored, ScoredText } from '../../src/evaluation/scoring/score-texts.js';
import { accessibilityFaults, closePages, expectNoSideways, newPage, widths } from '../dashboard/browser.js';

const folder = mkdtempSync(join(tmpdir(), 'portcullis-report-'));
afterAll(async () => {
  await closePages();
  rmSync(folder, { recursive: true });
});

/** 20 attacks and 20 benign texts; the rules find half of the attacks, the model none but those. */
const texts: readonly ScoredText[] = Array.from({ length: 40 }, (_, i) => {
  const isAttack = i % 2 === 0;
  const rulesScore = isAttack && i % 4 === 0 ? 0.9 : 0.1;
  return {
    ...{ id: `t${i}`, text: `A text of some length, number ${i}.`, source: 's', group: 'g', language: 'en' },
    ...{ label: isAttack ? ('injection' as const) : ('benign' as const), recorded: undefined, hits: [] },
    ...{ rulesScore, rule: rulesScore > 0.5 ? 'a.b' : null, micros: 100, cleared: false },
    ...{ combined: rulesScore, probability: rulesScore, modelMillis: 2 },
  };
});
const scored = {
  ...{
    texts,
    rulesVersion: '1.0.0+a',
    rulesThreshold: 0.5,
    modelVersion: 'm',
    modelThreshold: 0.731,
    channelThresholds: null,
  },
} as Scored;
const evaluation = evaluate(scored, { date: '2026-11-22', files: ['a.jsonl'], leftOut: {} });
const html = evaluationPage(evaluation, scored);

test('the wrong texts stand under the headline, before all tables and plots', () => {
  const places = ['<div class="cards">', 'Attacks missed: 10', 'Averages over sources', '<h2>Figures', '<h2>Plots'].map(
    (part) => html.indexOf(part),
  );
  expect(places.every((place) => place > 0)).toBe(true);
  expect([...places].sort((a, b) => a - b)).toEqual(places);
});

test('a share has its n, and no decimals that n does not carry', () => {
  const cards = html.slice(html.indexOf('class="cards"'), html.indexOf('<h2>'));
  expect(cards).toContain('attacks found<b>50 %</b><span class="soft">10 of 20;');
  expect(cards).toContain('benign texts blocked<b>0 %</b><span class="soft">0 of 20;');
  expect(cards).toMatch(/AUC<b>0\.\d\d<\/b><span class="soft">F1 0\.\d\d; 40 texts/);
  // Of 40 texts a tenth of a percent says nothing, wherever it stands.
  expect(html.slice(0, html.indexOf('<h2>Plots'))).not.toMatch(/(?<!for |at )\b\d+\.\d+ %/);
});

test('histograms have the threshold in force as a line; a curve of both begins where the rules do', () => {
  const plots = html.match(/<svg.*?<\/svg>/gs) ?? [];
  const of = (title: string): string => plots.find((plot) => plot.includes(`aria-label="${title}`)) ?? '';
  expect(of('Scores of the rules')).toMatch(/class="threshold".*blocks at 0\.5</s);
  expect(of('Scores of the model')).toMatch(/class="threshold".*blocks at 0\.731</s);
  const [corner] = /class="line a" points="([\d.,]+)/.exec(of('ROC')) ?? [];
  const both = /class="line c" points="([\d.]+),([\d.]+)/.exec(of('ROC'));
  expect(corner).toBeDefined();
  // In the rules' own point half of the attacks are found: no line leads there from the corner.
  expect(Number(both?.[2])).toBeLessThan(200);
});

test.each(['light', 'dark'] as const)(
  'the page is accessible and fits a phone: %s',
  async (theme) => {
    const file = join(folder, 'report.html');
    writeFileSync(file, html);
    const page = await newPage({ viewport: widths.phone, colorScheme: theme });
    await page.goto(pathToFileURL(file).href);
    await expectNoSideways(page);
    expect((await page.locator('svg').first().boundingBox())?.width).toBeLessThanOrEqual(390);
    expect(await accessibilityFaults(page)).toEqual([]);
    await page.context().close();
  },
  60_000,
);
