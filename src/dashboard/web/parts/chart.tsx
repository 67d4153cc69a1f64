import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

interface ChartProps {
  /** Says the chart in words. */
  readonly label: string;
  /** Milliseconds since 1970, ascending. */
  readonly times: readonly number[];
  readonly series: readonly {
    readonly name: string;
    readonly colour: string;
    readonly values: readonly (number | null)[];
  }[];
}

const height = 180;

/** Lines over time. `colour` names a property of the style sheet. */
export function Chart({ label, times, series }: ChartProps): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      const style = getComputedStyle(element);
      const colour = (name: string): string => style.getPropertyValue(name).trim();
      const axis = {
        stroke: colour('--text-soft'),
        grid: { stroke: colour('--line'), width: 1 },
        ticks: { show: false },
      };
      const options: uPlot.Options = {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_plot, _min, max) => [0, Math.max(max ?? 0, 1) * 1.1] } },
        axes: [axis, { ...axis, size: 56 }],
        series: [
          {},
          ...series.map((it, index) => ({
            label: it.name,
            stroke: colour(it.colour),
            width: 2,
            dash: index === 0 ? [] : [6, 3 * index],
            points: { show: times.length < 40, size: 5 },
          })),
        ],
      };
      plot = new uPlot(options, [times.map((it) => it / 1000), ...series.map((it) => [...it.values])], element);
    };
    draw();
    const watcher = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    dark.addEventListener('change', draw);
    return () => {
      watcher.disconnect();
      dark.removeEventListener('change', draw);
      plot?.destroy();
    };
  }, [times, series]);
  return (
    <figure class="chart">
      <div ref={place} role="img" aria-label={label} />
      <figcaption>
        {series.map((it, index) => (
          <span key={it.name} class="legend">
            <span class={`stroke ${it.colour.slice(2)} ${index === 0 ? '' : 'dashed'}`} aria-hidden="true" />
            {it.name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}
