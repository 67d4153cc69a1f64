import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { clock, count, shortDay } from '../format.js';
import { Table } from './table.js';

/** Values over time. */
export interface Series {
  readonly name: string;
  /** A property of the style sheet. */
  readonly colour: '--chart-1' | '--chart-2' | '--chart-3';
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** Says the chart in words. */
  readonly label: string;
  /** `stack` piles the series up, the first at the bottom; `lines` are on a logarithmic scale. */
  readonly kind: 'stack' | 'lines';
  /** Starts of the steps, milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** A value in words. */
  readonly shown: (value: number) => string;
  /** A step in words. */
  readonly moment: (time: number) => string;
}

/** Values over time: drawn, shown under the pointer, and as a table. */
export function Chart({ label, kind, times, series, shown, moment }: ChartProps) {
  const [at, setAt] = useState<number>();
  const place = usePlot({ kind, times, series }, setAt);
  const value = (it: Series, index: number): string => {
    const found = it.values[index];
    return found === null || found === undefined ? '–' : shown(found);
  };
  const time = at === undefined ? undefined : times[at];
  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={label} />
      <figcaption>
        {series.map((it, index) => (
          <span key={it.name} class="legend">
            <span class={`stroke ${it.colour.slice(2)} as-${kind} dash-${index}`} aria-hidden="true" />
            {it.name}
            {at === undefined ? null : <strong>{value(it, at)}</strong>}
          </span>
        ))}
        <span class="legend at">{time === undefined ? '' : moment(time)}</span>
      </figcaption>
      <details>
        <summary>As a table</summary>
        <Table
          columns={['From', ...series.map(({ name }) => [name, 'number'] as const)]}
          label={`Table: ${label}`}
          isShort
        >
          {times.map((step, index) => (
            <tr key={step}>
              <td>{moment(step)}</td>
              {series.map((it) => (
                <td key={it.name} class="number">
                  {value(it, index)}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </details>
    </figure>
  );
}

/** Draws the chart into the element of the returned reference. */
function usePlot({ kind, times, series }: Pick<ChartProps, 'kind' | 'times' | 'series'>, setAt: (at?: number) => void) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      // Stacked bars are drawn from the highest pile down, each over the one before.
      const drawn = kind === 'stack' ? stacked(series).reverse() : series.map(aboveZero);
      const rows = [times.map((it) => it / 1000), ...drawn.map(({ values }) => [...values])];
      plot = new uPlot(chartOptions(element, kind, times, drawn, setAt), rows as uPlot.AlignedData, element);
    };
    draw();
    const watcher = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: plot.height }));
    watcher.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      watcher.disconnect();
      dark.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [times, series, kind]);
  return place;
}

const HEIGHT = 190;
const DAY_SECONDS = 86_400;

/** The foot of a logarithmic scale: calls of 0 ms are drawn there. */
const LEAST_SHOWN = 0.5;

function stacked(series: readonly Series[]): Series[] {
  let below: readonly number[] = [];
  return series.map((it) => {
    below = it.values.map((value, index) => (value ?? 0) + (below[index] ?? 0));
    return { ...it, values: below };
  });
}

function aboveZero(series: Series): Series {
  return { ...series, values: series.values.map((it) => (it === null ? null : Math.max(LEAST_SHOWN, it))) };
}

/** Labels of a logarithmic axis: powers of ten only. */
function logLabel(value: number): string {
  return value >= 1 && Number.isInteger(Math.log10(value)) ? count(value) : '';
}

/** Options by which uPlot draws a chart, in the colours of the page's theme. `onAt` gets the step under the pointer. */
function chartOptions(
  element: HTMLElement,
  kind: ChartProps['kind'],
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
    height: HEIGHT,
    // Room for half of the last label.
    padding: [8, 32, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    hooks: { setCursor: [(plot) => onAt(plot.cursor.idx ?? undefined)] },
    scales: {
      x: { range: (_plot, min, max) => [min - step / 2, max + step / 2] },
      y:
        kind === 'lines'
          ? { distr: 3, log: 10, range: (_plot, _min, max) => [LEAST_SHOWN, Math.max(max ?? 0, 10) * 1.5] }
          : { range: (_plot, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 30, space: 64, values: timeLabels },
      {
        ...{ ...axis, size: 54, space: kind === 'lines' ? 20 : 36 },
        ...(kind === 'lines'
          ? { values: (_plot: uPlot, splits: readonly number[]) => splits.map(logLabel) }
          : { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5] }),
      },
    ],
    series: [
      {},
      ...series.map((it, index) => ({
        label: it.name,
        stroke: colour(it.colour),
        width: kind === 'stack' ? 0 : 2,
        ...(kind === 'stack' && bars !== undefined ? { fill: colour(it.colour), paths: bars } : {}),
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
    return step >= DAY_SECONDS || midnight ? shortDay(moment) : clock(moment);
  });
}
