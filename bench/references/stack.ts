/**
 * The same 202 without a database, on the HTTP stack named by STACK: `node`, `express`, `ts-rest`,
 * `ts-rest-last` (116 other routes registered before it), or `posthorn` (our pipeline with the whole contract
 * mounted).
 */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { sendTextBody } from '@posthorn/contract/messaging/send-bodies.ts';
import type { Principal } from '@posthorn/core/access/principal.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createCors } from '@posthorn/server/http/cors.ts';
import { createApp } from '@posthorn/server/http/create-app.ts';
import { serveContract } from '@posthorn/server/http/serve-contract.ts';
import { type AppRouter, initContract } from '@ts-rest/core';
import { createExpressEndpoints } from '@ts-rest/express';
import express from 'express';
import { z } from 'zod/v4';

const OTHER_ROUTES = 116;
const PATH = '/v1/instances/:instanceId/messages/text';

function accepted(key: unknown) {
  return {
    status: 'queued' as const,
    message_id: randomUUID(),
    task_id: randomUUID(),
    idempotency_key: String(key),
  };
}

function nodeServer(): Server {
  return createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8');
    request.on('data', (chunk) => {
      text += chunk;
    });
    request.on('end', () => {
      sendTextBody.parse(JSON.parse(text));
      response.writeHead(202, { 'content-type': 'application/json' });
      response.end(JSON.stringify(accepted(request.headers['idempotency-key'])));
    });
  });
}

function expressServer(): Server {
  const app = express();
  app.use(express.json());
  app.post(PATH, (request, response) => {
    sendTextBody.parse(request.body);
    response.status(202).json(accepted(request.headers['idempotency-key']));
  });
  return createServer(app);
}

function tsRestServer(othersBefore: number): Server {
  const c = initContract();
  const contract: AppRouter = {};
  const handlers: Record<string, unknown> = {};
  for (let i = 0; i < othersBefore; i += 1) {
    contract[`other${i}`] = c.query({
      method: 'GET',
      path: `/v1/instances/:instanceId/other${i}/:id`,
      responses: { 200: z.object({}) },
    });
    handlers[`other${i}`] = async () => ({ status: 200, body: {} });
  }
  contract.sendText = c.mutation({
    method: 'POST',
    path: PATH,
    body: sendTextBody,
    responses: { 202: messagingContract.messages.sendText.responses[202] },
  });
  handlers.sendText = async ({ headers }: { headers: Record<string, unknown> }) => ({
    status: 202,
    body: accepted(headers['idempotency-key']),
  });
  const app = express();
  app.use(express.json());
  createExpressEndpoints(contract, handlers as never, app, { logInitialization: false });
  return createServer(app);
}

/** Includes the gate; its lookups are answered from memory, as for a known key. */
function posthornServer(): Server {
  const principal: Principal = {
    companyId: 1,
    userId: 1,
    role: 'owner',
    isSuperadmin: false,
    via: 'key',
    tokenId: 1,
    jti: null,
    emailVerified: true,
    endsAtMs: null,
    requestsPerMinute: 1_000_000_000,
  };
  const slot = { allowed: true, limit: 1_000_000_000, remaining: 1, resetAtS: 0, retryAfterS: 0 };
  const deps = {
    log: createLog({ level: 'warn', role: 'bench' }),
    metrics: createMetrics({ collectProcess: false }),
    isDraining: () => false,
    validateResponses: false,
    envelope: 'full' as const,
    cors: createCors('http://127.0.0.1'),
    authenticator: { authenticateCached: () => principal, authenticate: async () => principal },
    addressOf: () => '127.0.0.1',
    transfers: { graceMs: 15_000, minBytesPerS: 16_384 },
    rateLimiter: { takeCached: () => slot, take: async () => slot },
  };
  const app = createApp(deps as never);
  const handler = async ({ headers }: { headers: Record<string, unknown> }) => ({
    status: 202,
    body: accepted(headers['idempotency-key']),
  });
  const sameForAll: unknown = new Proxy(handler, { get: () => sameForAll });
  serveContract(app, messagingContract, sameForAll as never, deps as never);
  return app.server;
}

const stacks: Record<string, () => Server> = {
  node: nodeServer,
  express: expressServer,
  'ts-rest': () => tsRestServer(0),
  'ts-rest-last': () => tsRestServer(OTHER_ROUTES),
  posthorn: posthornServer,
};
stacks[process.env.STACK ?? '']!().listen(Number(process.env.PORT), '127.0.0.1', () => console.log('ready'));
