import { escaped } from './markup.js';

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

/** A plot. Points outside the ranges are cut off. */
export interface Plot {
  readonly title: string;
  readonly x: { readonly name: string; readonly from: number; readonly to: number };
  readonly y: { readonly name: string; readonly from: number; readonly to: number };
  readonly series: readonly Series[];
  /** The line from corner to corner, where it means something. */
  readonly hasDiagonal?: boolean | undefined;
}

const width = 420;
const height = 300;
const left = 52;
const right = 12;
const top = 34;
const bottom = 44;

/** A number on an axis, as short as its axis allows. */
const tick = (value: number, range: number): string => {
  const digits = range >= 20 ? 0 : range >= 1 ? 2 : 4;
  return String(Number(value.toFixed(digits)));
};

/** A plot as self-contained SVG; colours come from the page's style. */
export const plotSvg = ({ title, x, y, series, hasDiagonal }: Plot): string => {
  const px = (value: number): number => left + ((value - x.from) / (x.to - x.from || 1)) * (width - left - right);
  const py = (value: number): number =>
    height - bottom - ((value - y.from) / (y.to - y.from || 1)) * (height - top - bottom);
  const place = ([a, b]: Point): string => `${px(a).toFixed(1)},${py(b).toFixed(1)}`;
  const steps = [0, 0.25, 0.5, 0.75, 1];
  const grid = steps.map((step) => {
    const [gx, gy] = [x.from + step * (x.to - x.from), y.from + step * (y.to - y.from)];
    return `<path class="grid" d="M${px(gx).toFixed(1)} ${top}V${height - bottom}M${left} ${py(gy).toFixed(1)}H${width - right}"/>
<text x="${px(gx).toFixed(1)}" y="${height - bottom + 15}" text-anchor="middle">${tick(gx, x.to - x.from)}</text>
<text x="${left - 6}" y="${(py(gy) + 4).toFixed(1)}" text-anchor="end">${tick(gy, y.to - y.from)}</text>`;
  });
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
    const slot = (width - left - right) / Math.max(1, points.length);
    const bar = (slot * 0.8) / bars.length;
    return seen
      .map(([a, b]) => {
        const from = px(a) + slot * 0.1 + bars.indexOf(series[index] as Series) * bar;
        return `<rect class="bar ${tone}" x="${from.toFixed(1)}" y="${py(b).toFixed(1)}" width="${bar.toFixed(1)}" height="${(py(y.from) - py(b)).toFixed(1)}"/>`;
      })
      .join('');
  });
  const named = series.filter(({ tone }, i) => series.findIndex((one) => one.tone === tone) === i);
  const legend = named.map(
    ({ name, tone }, i) =>
      `<rect class="bar ${tone}" x="${left + i * 118}" y="21" width="9" height="9"/><text x="${left + 13 + i * 118}" y="29">${escaped(name)}</text>`,
  );
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${escaped(title)}">
<text class="title" x="${left}" y="14">${escaped(title)}</text>${legend.join('')}
${grid.join('\n')}
${hasDiagonal ? `<path class="diagonal" d="M${px(x.from)} ${py(y.from)}L${px(x.to)} ${py(y.to)}"/>` : ''}${drawn.join('\n')}
<text x="${(left + width - right) / 2}" y="${height - 8}" text-anchor="middle">${escaped(x.name)}</text>
<text transform="translate(13 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">${escaped(y.name)}</text>
</svg>`;
};
