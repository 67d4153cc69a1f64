import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ScreeningEngine } from './screening/ports.js';

/** Metrics for operators. No label names an account, a key or a text. */
export interface ServiceMetrics {
  readonly registry: Registry;
  answered(route: string, status: number, seconds: number): void;
  decided(verdict: string, decidedBy: string, routerLevel: string): void;
  readonly underWay: Gauge;
}

/** Metrics of one app, in a registry of their own. `callsAtOnce`: its bound on calls in flight. */
export function createMetrics(defaults: boolean, engine: ScreeningEngine, callsAtOnce: number): ServiceMetrics {
  const registry = new Registry();
  if (defaults) collectDefaultMetrics({ register: registry });
  const registers = [registry];
  // Asked for by the first process of several.
  AggregatorRegistry.setRegistries(registry);
  const requests = new Counter({
    name: 'portcullis_http_requests_total',
    help: 'HTTP responses by route and status.',
    labelNames: ['route', 'status'] as const,
    registers,
  });
  const seconds = new Histogram({
    name: 'portcullis_http_request_seconds',
    help: 'Time from the request line to the end of the response.',
    labelNames: ['route'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
    registers,
  });
  const verdicts = new Counter({
    name: 'portcullis_verdicts_total',
    help: 'Verdicts by decision, decided_by and router level.',
    labelNames: ['verdict', 'decided_by', 'router_level'] as const,
    registers,
  });
  // A series that began at 1 would show no increase to an alert, so the first fallback would be missed.
  for (const verdict of ['allow', 'block'])
    verdicts.inc({ verdict, decided_by: 'ml-error-rules-fallback', router_level: 'rules' }, 0);
  const underWay = new Gauge({ name: 'portcullis_calls_under_way', help: 'Screening calls in flight.', registers });
  const limit = { name: 'portcullis_calls_limit', help: 'Screening calls that may be in flight.', registers };
  new Gauge(limit).set(callsAtOnce);
  workerMetrics(registry, engine);
  return {
    registry,
    underWay,
    answered(route, status, took) {
      requests.inc({ route, status });
      seconds.observe({ route }, took);
    },
    decided(verdict, decided_by, router_level) {
      verdicts.inc({ verdict, decided_by, router_level });
    },
  };
}

function workerMetrics(registry: Registry, { stats }: ScreeningEngine): void {
  if (stats === undefined) return;
  const gauge = (name: string, help: string, value: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(value());
      },
    });
  gauge('portcullis_scorers_wanted', 'Engine workers that there should be.', () => stats().workers);
  gauge('portcullis_scorers_ready', 'Engine workers ready for calls.', () => stats().ready);
  gauge('portcullis_scorers_waiting', 'Calls waiting for an engine worker.', () => stats().waiting);
  gauge('portcullis_scorers_lost', 'Engine workers lost since the start.', () => stats().lost);
}
