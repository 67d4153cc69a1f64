import { escaped } from './page.js';

/** A point in the plot's own units. */
export type Point = readonly [x: number, y: number];

/** A line or a row of bars with its name. */
export interface Series {
  readonly name: string;
  /** A CSS class that colours it: `a`, `b` or `c`. */
  readonly tone: 'a' | 'b' | 'c';
  readonly kind: 'line' | 'bars' | 'dots';
  readonly points: readonly Point[];
}

export interface Axis {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  /** `counts`: whole numbers from 0 on, 1, 10, 100 ... equally far apart. Default: linear. */
  readonly scale?: 'counts' | undefined;
}

/** A plot. Points outside the ranges are cut off. */
export interface Plot {
  readonly title: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly series: readonly Series[];
  /** Vertical lines with a name, such as a threshold, in the units of x. */
  readonly verticals?: readonly { readonly x: number; readonly name: string }[] | undefined;
  /** The line from corner to corner, where it means something. */
  readonly hasDiagonal?: boolean | undefined;
}

const WIDTH = 420;
const HEIGHT = 300;
const LEFT = 52;
const RIGHT = 12;
const TOP = 34;
const BOTTOM = 44;

/** A number on an axis, as short as its axis allows. */
function tick(value: number, range: number): string {
  const digits = range >= 20 ? 0 : range >= 1 ? 2 : 4;
  return String(Number(value.toFixed(digits)));
}

/** Position of a value on its axis, 0..1. */
function along({ from, to, scale }: Axis, value: number): number {
  if (scale === undefined) return (value - from) / (to - from || 1);
  // 1 stands as far from 0 as 2 from 1: a single text has a bar that is seen.
  return value < 1 ? 0 : Math.log(2 * value) / Math.log(2 * to);
}

/** The values that an axis names, with their texts. */
function computeTicks({ from, to, scale }: Axis): readonly (readonly [value: number, text: string])[] {
  if (scale === undefined)
    return [0, 0.25, 0.5, 0.75, 1].map((step) => {
      const value = from + step * (to - from);
      return [value, tick(value, to - from)];
    });
  const values = [0];
  for (let value = 1; value <= to; value *= 10) values.push(value);
  return values.map((value) => [value, String(value)]);
}

/** A plot as self-contained SVG; colours come from the page's style. */
export function plotSvg({ title, x, y, series, verticals = [], hasDiagonal }: Plot): string {
  const px = (value: number): number => LEFT + along(x, value) * (WIDTH - LEFT - RIGHT);
  const py = (value: number): number => HEIGHT - BOTTOM - along(y, value) * (HEIGHT - TOP - BOTTOM);
  const place = ([a, b]: Point): string => `${px(a).toFixed(1)},${py(b).toFixed(1)}`;
  const grid = [
    ...computeTicks(x).map(
      ([value, text]) => `<path class="grid" d="M${px(value).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}"/>
<text x="${px(value).toFixed(1)}" y="${HEIGHT - BOTTOM + 15}" text-anchor="middle">${text}</text>`,
    ),
    ...computeTicks(y).map(
      ([value, text]) => `<path class="grid" d="M${LEFT} ${py(value).toFixed(1)}H${WIDTH - RIGHT}"/>
<text x="${LEFT - 6}" y="${(py(value) + 4).toFixed(1)}" text-anchor="end">${text}</text>`,
    ),
  ];
  const inside = ([a, b]: Point): boolean => a >= x.from && a <= x.to && b >= y.from && b <= y.to;
  const drawn = series.map(({ kind, tone, points }, index) => {
    const seen = points.filter(inside);
    if (kind === 'line') return `<polyline class="line ${tone}" points="${seen.map(place).join(' ')}"/>`;
    if (kind === 'dots')
      return seen
        .map(
          (point) =>
            `<circle class="dot ${tone}" cx="${px(point[0]).toFixed(1)}" cy="${py(point[1]).toFixed(1)}" r="4"/>`,
        )
        .join('');
    const bars = series.filter((one) => one.kind === 'bars');
    const slot = (WIDTH - LEFT - RIGHT) / Math.max(1, points.length);
    const bar = (slot * 0.8) / bars.length;
    return seen
      .map(([a, b]) => {
        const from = px(a) + slot * 0.1 + bars.indexOf(series[index] as Series) * bar;
        return `<rect class="bar ${tone}" x="${from.toFixed(1)}" y="${py(b).toFixed(1)}" width="${bar.toFixed(1)}" height="${(py(y.from) - py(b)).toFixed(1)}"/>`;
      })
      .join('');
  });
  const lines = verticals.map(({ x: at, name }) => {
    const isRight = along(x, at) > 0.6;
    const side = isRight ? `x="${(px(at) - 4).toFixed(1)}" text-anchor="end"` : `x="${(px(at) + 4).toFixed(1)}"`;
    return `<path class="threshold" d="M${px(at).toFixed(1)} ${TOP}V${HEIGHT - BOTTOM}"/><text ${side} y="${TOP + 11}">${escaped(name)}</text>`;
  });
  const named = series.filter(({ tone }, i) => series.findIndex((one) => one.tone === tone) === i);
  const legend = named.map(
    ({ name, tone }, i) =>
      `<rect class="bar ${tone}" x="${LEFT + i * 118}" y="21" width="9" height="9"/><text x="${LEFT + 13 + i * 118}" y="29">${escaped(name)}</text>`,
  );
  return `<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${escaped(title)}">
<text class="title" x="${LEFT}" y="14">${escaped(title)}</text>${legend.join('')}
${grid.join('\n')}
${hasDiagonal ? `<path class="diagonal" d="M${px(x.from)} ${py(y.from)}L${px(x.to)} ${py(y.to)}"/>` : ''}${drawn.join('\n')}${lines.join('')}
<text x="${(LEFT + WIDTH - RIGHT) / 2}" y="${HEIGHT - 8}" text-anchor="middle">${escaped(x.name)}</text>
<text transform="translate(13 ${(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">${escaped(y.name)}</text>
</svg>`;
}
