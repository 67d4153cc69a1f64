import { expect, test } from 'vitest';
import { type Axis, plotSvg } from '../../src/evaluation/html/plot.js';

const plain: Axis = { name: 'x', from: 0, to: 1 };

/** The texts of the y axis with their heights, from the bottom up. */
const ticksOf = (y: Axis): readonly (readonly [text: string, at: number])[] => {
  const svg = plotSvg({ title: 'T', x: plain, y, series: [] });
  return [...svg.matchAll(/<text x="46" y="([\d.]+)" text-anchor="end">([^<]*)</g)].map(([, at, text]) => [
    text as string,
    Number(at),
  ]);
};

/** The heights of the bars of one row. */
const barsOf = (y: Axis, values: readonly number[]): readonly number[] => {
  const points = values.map((value, at) => [at / values.length, value] as const);
  const svg = plotSvg({ title: 'T', x: plain, y, series: [{ name: 's', tone: 'a', kind: 'bars', points }] });
  return [...svg.matchAll(/height="([\d.]+)"\/>/g)].map(([, height]) => Number(height)).slice(1);
};

test.each<[string, Axis, readonly string[]]>([
  ['linear, 0 to 1', plain, ['0', '0.25', '0.5', '0.75', '1']],
  ['linear, 0 to 0.05', { ...plain, to: 0.05 }, ['0', '0.0125', '0.025', '0.0375', '0.05']],
  ['counts to 1', { ...plain, scale: 'counts' }, ['0', '1']],
  ['counts to 9', { ...plain, to: 9, scale: 'counts' }, ['0', '1']],
  ['counts to 4,321', { ...plain, to: 4_321, scale: 'counts' }, ['0', '1', '10', '100', '1000']],
])('%s: the axis says %j', (_name, axis, texts) => {
  expect(ticksOf(axis).map(([text]) => text)).toEqual(texts);
});

test('on a scale of counts 1, 10, 100 are equally far apart, and bars reach the tick of their value', () => {
  const axis: Axis = { ...plain, to: 1_000, scale: 'counts' };
  const heights = ticksOf(axis).map(([, at]) => at);
  const [one, ten, hundred, thousand] = heights.slice(1) as [number, number, number, number];
  expect(one - ten).toBeCloseTo(ten - hundred, 0);
  expect(ten - hundred).toBeCloseTo(hundred - thousand, 0);
  const zero = heights[0] as number;
  expect(barsOf(axis, [0, 1, 10, 1_000])).toEqual(
    [0, zero - one, zero - ten, zero - thousand].map((height) => expect.closeTo(height, 0)),
  );
});
