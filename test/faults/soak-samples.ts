import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { System } from '../support/system.ts';
import { percentile } from '../webhooks/support.ts';
import type { SoakLoad } from './soak-load.ts';

/** One line of the table that a soak prints. */
export interface Sample {
  minute: number;
  /** Requests that were accepted at once, and those that had to be repeated. */
  taken: number;
  repeated: number;
  acceptP50: number;
  acceptP99: number;
  /** From the accept to the network's answer, for texts. */
  sendP50: number;
  sendP99: number;
  messagingMb: number;
  workerMb: number;
  outboxKb: number;
  deliveriesKb: number;
  idempotencyMb: number;
  messagesMb: number;
  eventsMb: number;
  killed: string;
}

const UNITS: Partial<Record<keyof Sample, string>> = {
  acceptP50: 'ms',
  acceptP99: 'ms',
  sendP50: 'ms',
  sendP99: 'ms',
};

/** The last minute in numbers. */
export async function takeSample(
  system: System,
  load: SoakLoad,
  { minute, killed, textIds }: { minute: number; killed: string; textIds: readonly string[] },
): Promise<Sample> {
  const { ms, repeated } = load.takeLatencies();
  const { rows } = await system.db.query<Record<string, number>>(
    `SELECT pg_total_relation_size('outbox')::float8 / 1024 AS outbox_kb,
       pg_total_relation_size('webhook_deliveries')::float8 / 1024 AS deliveries_kb,
       pg_total_relation_size('idempotency_keys')::float8 / 1048576 AS idempotency_mb,
       pg_total_relation_size('messages')::float8 / 1048576 AS messages_mb,
       (SELECT sum(pg_total_relation_size(relid))::float8 / 1048576 FROM pg_partition_tree('events')) AS events_mb,
       sends.p50, sends.p99
     FROM (
       SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY took) AS p50, percentile_cont(0.99) WITHIN GROUP (ORDER BY took) AS p99
       FROM (SELECT extract(epoch FROM sent_at - created_at)::float8 * 1000 AS took FROM messages
             WHERE direction = 'outbound' AND sent_at > now() - interval '1 minute' AND instance_id = ANY ($1::uuid[])) AS each
     ) AS sends`,
    [textIds],
  );
  const db = rows[0]!;
  return {
    minute,
    taken: ms.length,
    repeated,
    acceptP50: percentile(ms, 0.5),
    acceptP99: percentile(ms, 0.99),
    sendP50: db.p50!,
    sendP99: db.p99!,
    messagingMb: sumOf(system.messaging.map((each) => memoryMb(each.pid()))),
    workerMb: sumOf(system.workers.map((each) => memoryMb(each.pid()))),
    outboxKb: db.outbox_kb!,
    deliveriesKb: db.deliveries_kb!,
    idempotencyMb: db.idempotency_mb!,
    messagesMb: db.messages_mb!,
    eventsMb: db.events_mb!,
    killed,
  };
}

/** The head of a table in Markdown. */
export function headOf(sample: Sample): string {
  const names = Object.keys(sample) as (keyof Sample)[];
  const head = names.map((name) => (UNITS[name] ? `${name} (${UNITS[name]})` : name));
  return `${lineOf(head)}\n${lineOf(head.map(() => '---'))}`;
}

/** One line of the table. */
export function lineOf(cells: Sample | readonly string[]): string {
  const shown = Object.values(cells).map((value) =>
    typeof value === 'number' ? Math.round(value * 10) / 10 : value,
  );
  return `| ${shown.join(' | ')} |`;
}

/**
 * Measures that must not grow with time: by how much the median of the last third may exceed that of the middle one.
 */
const FLAT: Partial<Record<keyof Sample, number>> = {
  acceptP50: 1.5,
  sendP50: 1.5,
  messagingMb: 1.2,
  workerMb: 1.2,
  outboxKb: 1.5,
  deliveriesKb: 1.5,
};
/** Fewer minutes do not show growth. */
const MINUTES_MIN = 30;

export function assertFlat(samples: readonly Sample[]): void {
  if (samples.length < MINUTES_MIN) return;
  const third = Math.floor(samples.length / 3);
  const median = (part: readonly Sample[], name: keyof Sample) =>
    percentile(
      part.map((sample) => sample[name] as number),
      0.5,
    );
  for (const [name, atMost] of Object.entries(FLAT) as [keyof Sample, number][]) {
    const [middle, last] = [samples.slice(third, 2 * third), samples.slice(-third)];
    const growth = median(last, name) / median(middle, name);
    assert.ok(growth <= atMost, `${name} grew by a factor of ${growth.toFixed(2)} in the last third`);
  }
}

function memoryMb(pid: number): number {
  const kb = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kb) / 1024;
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}
