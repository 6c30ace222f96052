/** Express with one MikroORM unit of work per request: two entities created and flushed. */
import { randomUUID } from 'node:crypto';
import { defineEntity, MikroORM, p } from '@mikro-orm/postgresql';
import express from 'express';

const MessageEntity = defineEntity({
  name: 'ReferenceMessage',
  tableName: 'reference_messages',
  properties: {
    id: p.uuid().primary(),
    instanceId: p.uuid().fieldName('instance_id'),
    chat: p.text(),
    status: p.text(),
    content: p.json(),
    createdAt: p.datetime().fieldName('created_at'),
  },
});
const TaskEntity = defineEntity({
  name: 'ReferenceTask',
  tableName: 'reference_tasks',
  properties: {
    id: p.uuid().primary(),
    messageId: p.uuid().fieldName('message_id'),
    createdAt: p.datetime().fieldName('created_at'),
  },
});

const orm = await MikroORM.init({
  clientUrl: process.env.DATABASE_URL,
  entities: [MessageEntity, TaskEntity],
  pool: { min: 0, max: 16 },
});

const app = express();
app.use(express.json());
app.post('/v1/instances/:instanceId/messages/text', async (req, res) => {
  const em = orm.em.fork();
  const now = new Date();
  const message = em.create(MessageEntity, {
    id: randomUUID(),
    instanceId: req.params.instanceId,
    chat: req.body.to,
    status: 'queued',
    content: { text: req.body.text },
    createdAt: now,
  });
  const task = em.create(TaskEntity, { id: randomUUID(), messageId: message.id, createdAt: now });
  em.persist([message, task]);
  await em.flush();
  res.status(202).json({
    status: 'queued',
    message_id: message.id,
    task_id: task.id,
    idempotency_key: req.headers['idempotency-key'],
  });
});
app.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
