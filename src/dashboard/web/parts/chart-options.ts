import uPlot from 'uplot';
import { clock, shortDay } from '../format.js';
import type { Series } from './chart.js';

const height = 190;
const daySeconds = 86_400;

/** How uPlot draws a chart, in the colours of the page's theme. `onAt` is told the step under the pointer. */
export function chartOptions(
  element: HTMLElement,
  kind: 'bars' | 'lines',
  times: readonly number[],
  series: readonly Series[],
  onAt: (index: number | undefined) => void,
): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour('--text-soft'),
    font: `12px ${colour('--font')}`,
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { show: false },
  };
  const step = ((times[1] ?? 0) - (times[0] ?? 0)) / 1000;
  const bars = uPlot.paths.bars?.({ size: [0.7, 40], radius: 0.15 });
  return {
    width: element.clientWidth,
    height,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [(plot) => onAt(plot.cursor.idx ?? undefined)] },
    scales: {
      x: { range: (_plot, min, max) => [min - step / 2, max + step / 2] },
      y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 30, space: 64, values: timeLabels },
      { ...axis, size: 54, space: 36, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5] },
    ],
    series: [
      {},
      ...series.map((it, index) => ({
        label: it.name,
        stroke: colour(it.colour),
        width: kind === 'bars' ? 0 : 2,
        ...(kind === 'bars' && bars !== undefined ? { fill: colour(it.colour), paths: bars } : {}),
        ...(kind === 'lines' ? { dash: [[], [8, 4], [2, 3]][index] ?? [] } : {}),
        points: { show: kind === 'lines', size: 5, fill: colour(it.colour) },
      })),
    ],
  };
}

/** Days where a day or more lies between, else the time, and the day at midnight; in the reader's zone. */
function timeLabels(_plot: uPlot, splits: readonly number[], _axis: number, _space: number, step: number): string[] {
  return splits.map((at) => {
    const moment = at * 1000;
    const midnight = new Date(moment).getHours() === 0 && new Date(moment).getMinutes() === 0;
    return step >= daySeconds || midnight ? shortDay(moment) : clock(moment);
  });
}
