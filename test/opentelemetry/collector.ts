import { metrics, NodeSDK, tracing } from '@opentelemetry/sdk-node';

export type Span = tracing.ReadableSpan;

/** What was exported, in memory. */
export interface Collector {
  readonly sdk: NodeSDK;
  /** Finished spans since the last call. */
  spans(): Promise<Span[]>;
  /** What counters, and the counts of histograms, say since the start, by `name{attributes}`. */
  points(): Promise<ReadonlyMap<string, number>>;
}

/** Starts an SDK that exports to memory. One a process: OpenTelemetry has one global. */
export function collect(): Collector {
  const exporter = new tracing.InMemorySpanExporter();
  const measured = new metrics.InMemoryMetricExporter(metrics.AggregationTemporality.CUMULATIVE);
  const reader = new metrics.PeriodicExportingMetricReader({ exporter: measured, exportIntervalMillis: 3_600_000 });
  const sdk = new NodeSDK({
    spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
    metricReaders: [reader],
    instrumentations: [],
    autoDetectResources: false,
  });
  sdk.start();
  return {
    sdk,
    async spans() {
      const finished = [...exporter.getFinishedSpans()];
      exporter.reset();
      return finished;
    },
    async points() {
      await reader.forceFlush();
      const all =
        measured
          .getMetrics()
          .at(-1)
          ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
      measured.reset();
      const points = all.flatMap(({ descriptor, dataPoints }) =>
        dataPoints.map(({ attributes, value }): [string, number] => {
          const labels = Object.entries(attributes).map(([key, label]) => `${key.split('.').at(-2)}=${label}`);
          const name = `${descriptor.name.replace('portcullis.guardrail.', '')}{${labels.sort().join(',')}}`;
          return [name, typeof value === 'object' ? (value as { count: number }).count : value];
        }),
      );
      return new Map(points);
    },
  };
}
