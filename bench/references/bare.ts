/** A bare node:http server that runs one durable prepared two-row INSERT per request. */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import pg from 'pg';
import { INSERT_TWO_ROWS } from './tables.ts';

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: Number(process.env.POOL ?? 16) });

const server = createServer((req, res) => {
  let text = '';
  req.setEncoding('utf8');
  req.on('data', (chunk) => {
    text += chunk;
  });
  req.on('end', async () => {
    const body = JSON.parse(text);
    const instanceId = String(req.url).split('/')[3];
    const messageId = randomUUID();
    const taskId = randomUUID();
    await pool.query({
      name: 'insert',
      text: INSERT_TWO_ROWS,
      values: [messageId, instanceId, body.to, JSON.stringify({ text: body.text }), taskId],
    });
    res.writeHead(202, { 'content-type': 'application/json' });
    res.end(
      JSON.stringify({
        status: 'queued',
        message_id: messageId,
        task_id: taskId,
        idempotency_key: req.headers['idempotency-key'],
      }),
    );
  });
});
server.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
