import { collectDefaultMetrics, Gauge, type Metric, type MetricObject, Registry } from 'prom-client';

/** The counters of a process, in the Prometheus text format. */
export interface Metrics {
  /** Where each part registers its own counters and gauges: `new Counter({registers: [metrics.registry]})`. */
  readonly registry: Registry;
  /** How long requests of one route took; made once a route, called once a request. */
  requestTimer(route: string): (status: number, durationMs: number) => void;
  /** A figure that is looked up whenever /metrics is asked: what is held or under way at that moment. */
  gauge(name: string, help: string, value: () => number): void;
  /** The text for /metrics. */
  read(): Promise<string>;
  readonly contentType: string;
}

/** Upper bounds in seconds; the last bucket, +Inf, is the count itself. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15];

interface Series {
  route: string;
  status: number;
  /** Observations a bucket, not cumulated; one more for those above the last bound. */
  counts: Float64Array;
  sumS: number;
}

/**
 * `collectProcess` false leaves out the process's own figures (memory, event loop): two roles in one
 * process share them.
 */
export function createMetrics(options: { collectProcess?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.collectProcess ?? true) collectDefaultMetrics({ register: registry });
  const all: Series[] = [];
  registry.registerMetric(requestHistogram(all));
  return {
    registry,
    contentType: registry.contentType,
    read: () => registry.metrics(),
    gauge(name, help, value) {
      new Gauge({
        name,
        help,
        registers: [registry],
        collect() {
          this.set(value());
        },
      });
    },
    requestTimer(route) {
      const byStatus: (Series | undefined)[] = [];
      return (status, durationMs) => {
        let series = byStatus[status];
        if (!series) {
          series = { route, status, counts: new Float64Array(BUCKETS_S.length + 1), sumS: 0 };
          byStatus[status] = series;
          all.push(series);
        }
        const seconds = durationMs / 1000;
        let bucket = 0;
        while (bucket < BUCKETS_S.length && seconds > BUCKETS_S[bucket]!) bucket += 1;
        series.counts[bucket]! += 1;
        series.sumS += seconds;
      };
    },
  };
}

/**
 * A histogram whose series are plain arrays: the library's own hashes its labels at every observation
 * (about 1 µs), which the hot path would pay for each request.
 */
function requestHistogram(all: readonly Series[]): Metric {
  const name = 'http_request_duration_seconds';
  const collect = (): MetricObject => {
    const values: { labels: Record<string, string | number>; value: number; metricName: string }[] = [];
    for (const { route, status, counts, sumS } of all) {
      const labels = { route, status };
      let below = 0;
      for (const [i, bound] of BUCKETS_S.entries()) {
        below += counts[i]!;
        values.push({ labels: { ...labels, le: bound }, value: below, metricName: `${name}_bucket` });
      }
      const count = below + counts[BUCKETS_S.length]!;
      values.push({ labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` });
      values.push({ labels, value: sumS, metricName: `${name}_sum` });
      values.push({ labels, value: count, metricName: `${name}_count` });
    }
    return {
      name,
      help: 'Time from the head of a request to its answer, by route and status',
      type: 'histogram',
      aggregator: 'sum',
      values,
    } as unknown as MetricObject;
  };
  return { name, get: async () => collect(), reset: () => undefined } as unknown as Metric;
}
