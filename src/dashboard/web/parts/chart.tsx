import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { chartOptions } from './chart-options.js';

/** One row of values over time. */
export interface Series {
  readonly name: string;
  /** A property of the style sheet. */
  readonly colour: '--chart-1' | '--chart-2' | '--chart-3';
  readonly values: readonly (number | null)[];
}

interface ChartProps {
  /** Says the chart in words. */
  readonly label: string;
  readonly kind: 'bars' | 'lines';
  /** Starts of the steps, milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  /** A value in words. */
  readonly shown: (value: number) => string;
  /** A step in words. */
  readonly moment: (time: number) => string;
}

/** Values over time: drawn, read off under the pointer, and as a table. */
export function Chart({ label, kind, times, series, shown, moment }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      const rows = [times.map((it) => it / 1000), ...series.map((it) => [...it.values])];
      plot = new uPlot(chartOptions(element, kind, times, series, setAt), rows as uPlot.AlignedData, element);
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
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard */}
        <section class="scroll short" aria-label={`Table: ${label}`} tabIndex={0}>
          <table>
            <thead>
              <tr>
                <th scope="col">From</th>
                {series.map(({ name }) => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
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
            </tbody>
          </table>
        </section>
      </details>
    </figure>
  );
}
