import { startRabbit } from '@posthorn/test/support/rabbitmq.ts';
import type { BenchDatabases } from '../servers.ts';
import { median } from '../statistics.ts';
import { measureLatency, measureRate } from './drive.ts';
import { type Pipeline, startPlain, startStandalone, startThroughRabbit } from './pipelines.ts';
import { startReceiver } from './receiver.ts';

export interface EndToEndRow {
  name: string;
  messagesPerSecond: number;
  /** At half of that rate. */
  p50Ms: number;
  p99Ms: number;
}

export interface EndToEnd {
  rows: EndToEndRow[];
  vsPlain: number;
  rabbitmqVsPlain: number;
}

/** Accept to webhook received: ours and a plain pipeline, in one process and through RabbitMQ. */
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
    const pairs = [
      [
        await start(startStandalone(databases, receiver)),
        await start(startPlain(databases, receiver, { name: 'plain, one process', database: 'bench_plain' })),
      ],
      [
        await start(startThroughRabbit(databases, rabbit.url, receiver)),
        await start(
          startPlain(databases, receiver, {
            name: 'plain, RabbitMQ',
            database: 'bench_plain_rabbitmq',
            env: { AMQP_URL: rabbit.url },
          }),
        ),
      ],
    ] as const;
    const all = pairs.flat();
    const rates = new Map<string, number[]>(all.map(({ name }) => [name, []]));
    for (const pipeline of all) await measureRate(pipeline.target, receiver, Math.ceil(options.messages / 4));
    for (let round = 0; round < options.rounds; round += 1) {
      for (const pipeline of all) {
        rates.get(pipeline.name)?.push(await measureRate(pipeline.target, receiver, options.messages));
      }
    }
    const rows: EndToEndRow[] = [];
    for (const { name, target } of all) {
      const messagesPerSecond = median(rates.get(name) ?? []);
      const perSecond = messagesPerSecond / 2;
      rows.push({
        name,
        messagesPerSecond,
        ...(await measureLatency(target, receiver, { perSecond, seconds: options.seconds })),
      });
    }
    const [vsPlain, rabbitmqVsPlain] = pairs.map(([ours, plain]) =>
      median(
        (rates.get(ours.name) ?? []).map(
          (rate, round) => rate / (rates.get(plain.name)?.[round] ?? Number.NaN),
        ),
      ),
    );
    return { rows, vsPlain: vsPlain ?? Number.NaN, rabbitmqVsPlain: rabbitmqVsPlain ?? Number.NaN };
  } finally {
    for (const pipeline of running) await pipeline.stop();
    receiver.close();
    await rabbit.stop();
  }
}
