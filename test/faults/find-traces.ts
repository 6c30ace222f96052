import { randomUUID } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { ENTITLEMENT_UPDATES_QUEUE } from '@posthorn/core/billing/entitlements/entitlements.ts';
import { DEFAULT_SHARDS, shardQueue } from '@posthorn/core/instances/shard.ts';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import type { Sql } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';

/** The tables of the simulated provider: a real provider's database belongs to another company, and keeps its data. */
const NOT_OURS = 'simulated\\_%';

/**
 * The tables that contain any of these words, with the number of rows: in text, JSON, arrays, or as bytes. It reads
 * every table in the catalogue, and knows nothing of their purposes.
 */
export async function findInTables(sql: Sql, words: readonly string[]): Promise<Record<string, number>> {
  const { rows: tables } = await sql.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')
       AND table_name NOT LIKE $1`,
    [NOT_OURS],
  );
  const patterns = words.flatMap((word) => [`%${word}%`, `%${Buffer.from(word).toString('hex')}%`]);
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await sql.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${name} AS t WHERE t::text LIKE ANY ($1)`,
      [patterns],
    );
    if (rows[0]!.count > 0) found[name] = rows[0]!.count;
  }
  return found;
}

/** The tables with rows of this company, by their column. */
export async function findByColumn(sql: Sql, companyId: number): Promise<Record<string, number>> {
  const { rows: tables } = await sql.query<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name FROM information_schema.columns
     JOIN information_schema.tables USING (table_schema, table_name)
     WHERE column_name = 'company_id' AND table_type = 'BASE TABLE'`,
  );
  const found: Record<string, number> = {};
  for (const { name } of tables) {
    const { rows } = await sql.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${name} WHERE company_id = $1`,
      [companyId],
    );
    if (rows[0]!.count > 0) found[name] = rows[0]!.count;
  }
  return found;
}

/** The files below a folder with any of these words in their path or their bytes. */
export async function findInFiles(folder: string, words: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    // Files come and go: a file that is gone by now leaves no trace.
    const bytes = await readFile(file).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'ENOENT') throw err;
      return null;
    });
    if (bytes === null) continue;
    if (words.some((word) => file.includes(word) || bytes.includes(word)))
      found.push(path.relative(folder, file));
  }
  return found;
}

/** The bodies of all messages in the queues, which are removed from them: nobody else may consume them any more. */
export async function takeQueued(amqpUrl: string): Promise<string[]> {
  const broker = createRabbitBroker({ url: amqpUrl, log: createLog({ level: 'silent', role: 'test' }) });
  const queues = [
    ...Array.from({ length: DEFAULT_SHARDS }, (_, shard) => shardQueue(shard)),
    ENTITLEMENT_UPDATES_QUEUE,
  ];
  const bodies: string[] = [];
  try {
    await broker.declare(queues);
    for (const queue of queues) {
      const last = randomUUID();
      // Behind all waiting messages: when it arrives, the queue is empty.
      await broker.publish(queue, last);
      const { promise: isEmpty, resolve } = Promise.withResolvers<void>();
      const consumer = await broker.consume(queue, { prefetch: 64 }, async (body) => {
        if (body === last) resolve();
        else bodies.push(JSON.stringify(body));
      });
      await isEmpty;
      await consumer.close();
    }
  } finally {
    await broker.close();
  }
  return bodies;
}
