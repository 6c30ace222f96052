/** The bare framework: ts-rest, Express and zod answering 202 to the same request, without a database. */

import { randomUUID } from 'node:crypto';
import { initContract } from '@ts-rest/core';
import { createExpressEndpoints, initServer } from '@ts-rest/express';
import express from 'express';
import { z } from 'zod/v4';

const contract = initContract().router({
  sendText: {
    method: 'POST',
    path: '/v1/instances/:instanceId/messages/text',
    body: z.object({
      to: z.string().min(1),
      text: z.string().min(1),
      quoted_id: z.string().optional(),
      mentions: z.array(z.string()).optional(),
    }),
    responses: {
      202: z.object({
        status: z.string(),
        message_id: z.string(),
        task_id: z.string(),
        idempotency_key: z.string(),
      }),
    },
  },
});

const app = express();
app.use(express.json());
const router = initServer().router(contract, {
  sendText: async ({ req }) => ({
    status: 202,
    body: {
      status: 'queued',
      message_id: randomUUID(),
      task_id: randomUUID(),
      idempotency_key: String(req.headers['idempotency-key']),
    },
  }),
});
createExpressEndpoints(contract, router, app);
app.listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
