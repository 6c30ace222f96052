/**
 * A speed-only pipeline, as a specialist would write it: the machine's limit for a durable accept and a
 * webhook. node:http -> one INSERT for all requests that arrived meanwhile -> 202 -> one UPDATE with the
 * events for all waiting messages -> kept-alive POSTs -> one INSERT of the logs. No keys, no guard, no
 * network, no retries, and nothing recovers after a crash.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import pg from 'pg';
import { Pool } from 'undici';

const POSTS = 64;
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 3 });
const webhook = new URL(String(process.env.WEBHOOK_URL));
const receiver = new Pool(webhook.origin, { connections: POSTS });

/** Runs `write` with all items that arrived while it was busy. */
function createGatherer<T>(write: (items: T[]) => Promise<void>): (item: T) => void {
  let waiting: T[] = [];
  let running = false;
  const drain = async () => {
    // Requests from one read of the sockets are written together.
    await new Promise(setImmediate);
    while (waiting.length > 0) {
      const items = waiting;
      waiting = [];
      await write(items);
    }
    running = false;
  };
  return (item) => {
    waiting.push(item);
    if (running) return;
    running = true;
    drain().catch((err: unknown) => {
      console.error(err);
      process.exit(1);
    });
  };
}

interface Accepted {
  id: string;
  key: string;
  instance_id: string;
  chat: string;
  content: { text: string };
  response: ServerResponse;
}

interface Event {
  id: string;
  message_id: string;
  data: { message_ids: string[]; idempotency_key: string; message_type: 'text' };
}

const accept = createGatherer<Accepted>(async (items) => {
  await pool.query({
    name: 'accept',
    text: `INSERT INTO reference_messages (id, instance_id, chat, status, content, created_at)
           SELECT id, instance_id, chat, 'queued', content, now()
           FROM json_to_recordset($1) AS r (id uuid, instance_id uuid, chat text, content jsonb)`,
    values: [JSON.stringify(items.map(({ response, key, ...row }) => row))],
  });
  for (const { id, key, response } of items) {
    const body = JSON.stringify({ status: 'queued', message_id: id, task_id: id, idempotency_key: key });
    response.writeHead(202, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
    send({
      id: randomUUID(),
      message_id: id,
      data: { message_ids: [id], idempotency_key: key, message_type: 'text' },
    });
  }
});

const send = createGatherer<Event>(async (events) => {
  await pool.query({
    name: 'sent',
    text: `WITH events AS MATERIALIZED (
             SELECT * FROM json_to_recordset($1) AS r (id uuid, message_id uuid, data jsonb)
           ), moved AS (
             UPDATE reference_messages SET status = 'sent' WHERE id IN (SELECT message_id FROM events)
           )
           INSERT INTO reference_events (id, message_id, type, data, created_at)
           SELECT id, message_id, 'message.sent', data, now() FROM events`,
    values: [JSON.stringify(events)],
  });
  for (const event of events) void deliver(event);
});

async function deliver({ id, data }: Event): Promise<void> {
  const answer = await receiver.request({
    method: 'POST',
    path: webhook.pathname,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ event_id: id, type: 'message.sent', data }),
  });
  await answer.body.dump();
  log({ event_id: id, status_code: answer.statusCode });
}

const log = createGatherer<{ event_id: string; status_code: number }>(async (logs) => {
  await pool.query({
    name: 'log',
    text: `INSERT INTO reference_delivery_logs (event_id, status_code, created_at)
           SELECT event_id, status_code, now() FROM json_to_recordset($1) AS r (event_id uuid, status_code integer)`,
    values: [JSON.stringify(logs)],
  });
});

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(chunks).toString()) as { to: string; text: string };
    accept({
      id: randomUUID(),
      key: String(request.headers['idempotency-key']),
      instance_id: String(request.url).split('/')[3]!,
      chat: body.to,
      content: { text: body.text },
      response,
    });
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
