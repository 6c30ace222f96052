import { readFileSync } from 'node:fs';
import { oneRow } from '@posthorn/core/platform/database/one-row.ts';
import type { RabbitServer } from '@posthorn/test/support/rabbitmq-server.ts';
import type { System } from '@posthorn/test/support/system.ts';
import { cpuTimeOfTreeUs, cpuTimeUs } from '../cpu/process-time.ts';
import type { BenchDatabases } from '../servers.ts';

/** Totals so far, or what something cost. */
export interface Reading {
  messagingCpuUs: number;
  workerCpuUs: number;
  postgresCpuUs: number;
  brokerCpuUs: number;
  walBytes: number;
  /** Size of tables and indexes. Deleted rows still take space, which later ones reuse. */
  diskBytes: number;
  /** Messages that the broker took from publishers. */
  brokerMessages: number;
}

export async function readAll(
  databases: BenchDatabases,
  system: System,
  rabbit: RabbitServer,
): Promise<Reading> {
  const { rows } = await system.db.query<{ wal: number; disk: number }>(
    `SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::float8 AS wal,
       pg_database_size(current_database())::float8 AS disk`,
  );
  const { wal, disk } = oneRow(rows);
  const cpuOf = (pids: number[]) => pids.reduce((total, pid) => total + cpuTimeUs(pid), 0);
  const brokerPid = Number((await rabbit.ctl('eval', 'list_to_integer(os:getpid()).')).trim());
  return {
    messagingCpuUs: cpuOf(system.messaging.map((process) => process.pid())),
    workerCpuUs: cpuOf(system.workers.map((process) => process.pid())),
    postgresCpuUs: cpuTimeOfTreeUs(databases.server.pid()),
    brokerCpuUs: cpuTimeUs(brokerPid),
    walBytes: wal,
    diskBytes: disk,
    brokerMessages: await messagesTaken(rabbit),
  };
}

async function messagesTaken(rabbit: RabbitServer): Promise<number> {
  const counters = await rabbit.ctl('eval', 'rabbit_global_counters:overview().');
  const found = [...counters.matchAll(/messages_received_total\s*=>\s*(\d+)/g)];
  if (found.length === 0) throw new Error(`the broker counts no messages: ${counters.slice(0, 300)}`);
  return found.reduce((sum, [, count]) => sum + Number(count), 0);
}

/** Resident memory of the workers. */
export function residentBytes(system: System): number {
  const ofProcess = (pid: number) =>
    Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1_024;
  return system.workers.reduce((sum, process) => sum + ofProcess(process.pid()), 0);
}

export function difference(one: Reading, other: Reading): Reading {
  return mapped(one, (name) => one[name] - other[name]);
}

export function sum(one: Reading, other: Reading): Reading {
  return mapped(one, (name) => one[name] + other[name]);
}

export function scaled(reading: Reading, factor: number): Reading {
  return mapped(reading, (name) => reading[name] * factor);
}

function mapped(reading: Reading, valueFor: (name: keyof Reading) => number): Reading {
  const names = Object.keys(reading) as (keyof Reading)[];
  return Object.fromEntries(names.map((name) => [name, valueFor(name)])) as unknown as Reading;
}
