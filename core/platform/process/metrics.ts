import { collectDefaultMetrics, type Metric, type MetricObject, Registry } from 'prom-client';
import { withTimeout } from './with-timeout.ts';

export type Labels = Readonly<Record<string, string | number>>;

/** One series of a figure, as it is at this moment. */
export interface Sample {
  labels?: Labels;
  value: number;
}

/** The counters of a process, in the Prometheus text format. A name that is registered again gets more series. */
export interface Metrics {
  readonly registry: Registry;
  /** How long requests of one route took; made once a route, called once a request. */
  requestTimer(route: string): (status: number, durationMs: number) => void;
  /** A figure that is looked up whenever /metrics is asked: what is held or under way at that moment. */
  gauge(name: string, help: string, value: () => number, labels?: Labels): void;
  /** The same for several series, which may be looked up elsewhere. A read that rejects leaves them out. */
  gauges(name: string, help: string, read: () => readonly Sample[] | Promise<readonly Sample[]>): void;
  /**
   * A number that only grows; returns the function that counts. Made once for each set of labels, which /metrics then
   * shows with 0.
   */
  counter(name: string, help: string, labels?: Labels): (by?: number) => void;
  /** A histogram of durations; returns the function that records one. Made once for each set of labels. */
  timer(name: string, help: string, labels?: Labels): (durationMs: number) => void;
  /** The text for /metrics. */
  read(): Promise<string>;
  readonly contentType: string;
}

/** Upper bounds in seconds; the last bucket, +Inf, is the count itself. */
const BUCKETS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300];

type Kind = 'gauge' | 'counter' | 'histogram';

interface Value {
  labels: Labels;
  value: number;
  metricName?: string;
}

interface Figure {
  help: string;
  kind: Kind;
  sources: (() => readonly Value[] | Promise<readonly Value[]>)[];
}

/**
 * `collectProcess` false leaves out the process's own figures (memory, event loop): two roles in one
 * process share them.
 */
export function createMetrics(options: { collectProcess?: boolean } = {}): Metrics {
  const registry = new Registry();
  if (options.collectProcess ?? true) collectDefaultMetrics({ register: registry });
  const figures = new Map<string, Figure>();
  /** Two parts that count the same thing count together. */
  const made = new Map<string, (amount: number) => void>();

  function once(name: string, labels: Labels, make: () => (amount: number) => void) {
    const key = `${name} ${JSON.stringify(labels)}`;
    const known = made.get(key) ?? make();
    made.set(key, known);
    return known;
  }

  function add(name: string, help: string, kind: Kind, source: Figure['sources'][number]): void {
    const known = figures.get(name);
    if (known) {
      if (known.kind !== kind || known.help !== help) throw new Error(`two different metrics ${name}`);
      known.sources.push(source);
      return;
    }
    const figure: Figure = { help, kind, sources: [source] };
    figures.set(name, figure);
    registry.registerMetric(metricOf(name, figure));
  }

  function timer(name: string, help: string, labels: Labels = {}): (durationMs: number) => void {
    return once(name, labels, () => {
      const series = newSeries();
      add(name, help, 'histogram', () => valuesOf(name, labels, series));
      return (durationMs) => observe(series, durationMs);
    });
  }

  return {
    registry,
    contentType: registry.contentType,
    read: () => registry.metrics(),
    gauge: (name, help, value, labels = {}) => add(name, help, 'gauge', () => [{ labels, value: value() }]),
    gauges: (name, help, read) =>
      add(name, help, 'gauge', async () =>
        (await read()).map(({ labels = {}, value }) => ({ labels, value })),
      ),
    counter(name, help, labels = {}) {
      const grow = once(name, labels, () => {
        let count = 0;
        add(name, help, 'counter', () => [{ labels, value: count }]);
        return (by) => {
          count += by;
        };
      });
      return (by = 1) => grow(by);
    },
    timer,
    requestTimer(route) {
      const byStatus: ((durationMs: number) => void)[] = [];
      return (status, durationMs) => {
        byStatus[status] ??= timer(REQUESTS, REQUESTS_HELP, { route, status });
        byStatus[status](durationMs);
      };
    },
  };
}

const REQUESTS = 'http_request_duration_seconds';
const REQUESTS_HELP = 'Time from the head of a request to its answer, by route and status';

/**
 * The library's own figures hash their labels at every observation (about 1 µs), which the hot path would pay for each
 * request; ours are plain variables, gathered when /metrics is asked.
 */
function metricOf(name: string, { help, kind, sources }: Figure): Metric {
  async function get(): Promise<MetricObject> {
    const read = await Promise.all(
      sources.map(async (source) => {
        try {
          const values = source();
          return values instanceof Promise ? await withTimeout(values, LOOK_UP_MS, () => []) : values;
        } catch {
          // A database that is away, or does not answer, must not take the other figures with it.
          return [];
        }
      }),
    );
    return {
      name,
      help,
      type: kind,
      aggregator: 'sum',
      values: read.flat().map((value) => ({ ...value, labels: { ...value.labels } })),
    } as unknown as MetricObject;
  }
  return { name, get, reset: () => undefined } as unknown as Metric;
}

/** A scraper of /metrics gives up after ten seconds, and then has no figure at all. */
const LOOK_UP_MS = 3_000;

interface Series {
  /** Observations a bucket, not cumulated; one more for those above the last bound. */
  counts: Float64Array;
  sumS: number;
}

function newSeries(): Series {
  return { counts: new Float64Array(BUCKETS_S.length + 1), sumS: 0 };
}

function observe(series: Series, durationMs: number): void {
  const seconds = durationMs / 1000;
  let bucket = 0;
  while (bucket < BUCKETS_S.length && seconds > BUCKETS_S[bucket]!) bucket += 1;
  series.counts[bucket]! += 1;
  series.sumS += seconds;
}

function valuesOf(name: string, labels: Labels, { counts, sumS }: Series): Value[] {
  let below = 0;
  const buckets = BUCKETS_S.map((le, i): Value => {
    below += counts[i]!;
    return { labels: { ...labels, le }, value: below, metricName: `${name}_bucket` };
  });
  const count = below + counts[BUCKETS_S.length]!;
  return [
    ...buckets,
    { labels: { ...labels, le: '+Inf' }, value: count, metricName: `${name}_bucket` },
    { labels, value: sumS, metricName: `${name}_sum` },
    { labels, value: count, metricName: `${name}_count` },
  ];
}
