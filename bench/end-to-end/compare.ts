import { startRabbit } from '@posthorn/test/support/rabbitmq.ts';
import type { BenchDatabases } from '../servers.ts';
import { median } from '../statistics.ts';
import { measureLatency, measureRate } from './drive.ts';
import { type Pipeline, startLimit, startPlain, startStandalone, startThroughRabbit } from './pipelines.ts';
import { startReceiver } from './receiver.ts';

export interface EndToEndRow {
  name: string;
  messagesPerSecond: number;
  /**
   * From the request to the webhook: at 200 messages a second in one process, at half of its rate through
   * RabbitMQ.
   */
  p50Ms: number;
  p99Ms: number;
}

export interface EndToEnd {
  rows: EndToEndRow[];
  vsPlain: number;
  rabbitmqVsPlain: number;
  /** Our rate divided by that of the speed-only pipeline. */
  vsLimit: number;
  /** Ratio of the medians: less is better. */
  latencyVsPlain: number;
  latencyRabbitmqVsPlain: number;
}

/** A rate at which each pipeline is idle most of the time. */
const QUIET_PER_SECOND = 200;

/** From accept to received webhook: our pipeline compared with references, in one process and through RabbitMQ. */
export async function compareEndToEnd(
  databases: BenchDatabases,
  options: { rounds: number; messages: number; seconds: number },
): Promise<EndToEnd> {
  const rabbit = await startRabbit();
  const receiver = await startReceiver();
  const running: Pipeline[] = [];
  const start = async (starting: Promise<Pipeline>) => {
    const pipeline = await starting;
    running.push(pipeline);
    return pipeline;
  };
  try {
    const ours = await start(startStandalone(databases, receiver));
    const plain = await start(
      startPlain(databases, receiver, { name: 'plain, one process', database: 'bench_plain' }),
    );
    const limit = await start(startLimit(databases, receiver));
    const oursRabbit = await start(startThroughRabbit(databases, rabbit.url, receiver));
    const plainRabbit = await start(
      startPlain(databases, receiver, {
        name: 'plain, RabbitMQ',
        database: 'bench_plain_rabbitmq',
        env: { AMQP_URL: rabbit.url },
      }),
    );
    const all = [ours, plain, limit, oursRabbit, plainRabbit];
    const rates = new Map<Pipeline, number[]>(all.map((pipeline) => [pipeline, []]));
    for (const { target } of all) await measureRate(target, receiver, Math.ceil(options.messages / 4));
    for (let round = 0; round < options.rounds; round += 1) {
      for (const pipeline of all)
        rates.get(pipeline)!.push(await measureRate(pipeline.target, receiver, options.messages));
    }
    const rows = new Map<Pipeline, EndToEndRow>();
    for (const pipeline of all) {
      const messagesPerSecond = median(rates.get(pipeline)!);
      const throughRabbit = pipeline === oursRabbit || pipeline === plainRabbit;
      const perSecond = throughRabbit ? messagesPerSecond / 2 : QUIET_PER_SECOND;
      const latency = await measureLatency(pipeline.target, receiver, {
        perSecond,
        seconds: options.seconds,
      });
      rows.set(pipeline, { name: pipeline.name, messagesPerSecond, ...latency });
    }
    const rateOf = (one: Pipeline, other: Pipeline) =>
      median(rates.get(one)!.map((rate, round) => rate / rates.get(other)![round]!));
    const latencyOf = (one: Pipeline, other: Pipeline) => rows.get(one)!.p50Ms / rows.get(other)!.p50Ms;
    return {
      rows: [...rows.values()],
      vsPlain: rateOf(ours, plain),
      rabbitmqVsPlain: rateOf(oursRabbit, plainRabbit),
      vsLimit: rateOf(ours, limit),
      latencyVsPlain: latencyOf(ours, plain),
      latencyRabbitmqVsPlain: latencyOf(oursRabbit, plainRabbit),
    };
  } finally {
    for (const pipeline of running) await pipeline.stop();
    receiver.close();
    await rabbit.stop();
  }
}
