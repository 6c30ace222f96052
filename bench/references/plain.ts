/**
 * A plain pipeline: the same inserts, hand-off and POST as ours, one of each per message, without our
 * features. node:http -> two rows -> queue (in the process, or a RabbitMQ quorum queue) -> status, event and
 * log rows -> webhook POST.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import pg from 'pg';
import { Connection } from 'rabbitmq-client';
import { Pool } from 'undici';
import { INSERT_TWO_ROWS } from './tables.ts';

const CONSUMERS = 64;
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
const webhook = new URL(String(process.env.WEBHOOK_URL));
const receiver = new Pool(webhook.origin, { connections: CONSUMERS });

interface Task {
  messageId: string;
  taskId: string;
  idempotencyKey: string;
}

async function deliver(task: Task): Promise<void> {
  const eventId = randomUUID();
  const data = { message_ids: [task.messageId], idempotency_key: task.idempotencyKey, message_type: 'text' };
  await pool.query({
    name: 'sent',
    text: `WITH moved AS (UPDATE reference_messages SET status = 'sent' WHERE id = $1),
                done AS (DELETE FROM reference_tasks WHERE id = $2)
           INSERT INTO reference_events (id, message_id, type, data, created_at)
           VALUES ($3, $1, 'message.sent', $4, now())`,
    values: [task.messageId, task.taskId, eventId, JSON.stringify(data)],
  });
  const answer = await receiver.request({
    method: 'POST',
    path: webhook.pathname,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ event_id: eventId, type: 'message.sent', data }),
  });
  await answer.body.dump();
  await pool.query({
    name: 'log',
    text: 'INSERT INTO reference_delivery_logs (event_id, status_code, created_at) VALUES ($1, $2, now())',
    values: [eventId, answer.statusCode],
  });
}

async function createHandOff(): Promise<(task: Task) => Promise<void>> {
  if (!process.env.AMQP_URL) {
    const queue: Task[] = [];
    let busy = 0;
    const next = () => {
      while (busy < CONSUMERS && queue.length > 0) {
        busy += 1;
        void deliver(queue.shift() as Task).finally(() => {
          busy -= 1;
          next();
        });
      }
    };
    return async (task) => {
      queue.push(task);
      next();
    };
  }
  const rabbit = new Connection(process.env.AMQP_URL);
  const queue = 'reference';
  const queueOptions = { durable: true, arguments: { 'x-queue-type': 'quorum' as const } };
  await rabbit.queueDeclare({ queue, ...queueOptions });
  rabbit.createConsumer({ queue, queueOptions, qos: { prefetchCount: CONSUMERS } }, (message) =>
    deliver(message.body),
  );
  const publisher = rabbit.createPublisher({ confirm: true });
  return (task) => publisher.send({ routingKey: queue, durable: true }, task);
}

const handOff = await createHandOff();
const server = createServer((req, res) => {
  let text = '';
  req.setEncoding('utf8');
  req.on('data', (chunk) => {
    text += chunk;
  });
  req.on('end', async () => {
    const body = JSON.parse(text);
    const messageId = randomUUID();
    const taskId = randomUUID();
    const idempotencyKey = String(req.headers['idempotency-key']);
    await pool.query({
      name: 'insert',
      text: INSERT_TWO_ROWS,
      values: [
        messageId,
        String(req.url).split('/')[3],
        body.to,
        JSON.stringify({ text: body.text }),
        taskId,
      ],
    });
    await handOff({ messageId, taskId, idempotencyKey });
    res.writeHead(202, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        status: 'queued',
        message_id: messageId,
        task_id: taskId,
        idempotency_key: idempotencyKey,
      }),
    );
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
