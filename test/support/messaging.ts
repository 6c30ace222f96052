import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createAccounts } from '@posthorn/core/accounts/create-accounts.ts';
import { type OpenedMedia, openMedia } from '@posthorn/core/media/open-media.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createOrm } from '@posthorn/core/platform/database/orm.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import type { LocalQueues } from '@posthorn/core/sending/local-queues.ts';
import { createMessagingServer, type MessagingServer } from '@posthorn/server/messaging/app.ts';
import { messagingEntities } from '@posthorn/server/messaging/entities.ts';
import { testConfig } from './config.ts';
import { createDocumentGuard } from './document-guard.ts';
import { createParts, type Parts } from './parts.ts';
import { type SeededCompany, seedSession } from './seed.ts';

export interface Answer {
  status: number;
  headers: Headers;
  /** The parsed JSON; undefined when there was no JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came, whatever it is
  body: any;
  text: string;
}

export interface Request {
  key?: string;
  jwt?: string;
  headers?: Record<string, string>;
  /** Sent as JSON; `raw` is sent unchanged. */
  body?: unknown;
  raw?: string;
}

export interface TestMessaging {
  parts: Parts;
  media: OpenedMedia;
  config: Config;
  server: MessagingServer;
  url: string;
  call(method: string, path: string, request?: Request): Promise<Answer>;
  /** A JWT of the seeded user, as a login would give. */
  jwtOf(company: SeededCompany, options?: { isSuperadmin?: boolean }): Promise<string>;
  close(): Promise<void>;
}

/** The messaging server in this process, over real HTTP and on a database of the test file's own. */
export async function startTestMessaging(
  env: Record<string, string> = {},
  options: { clock?: Clock; log?: Log; queues?: LocalQueues } = {},
): Promise<TestMessaging> {
  const parts = await createParts(options);
  const dataDir = await mkdtemp(path.join(tmpdir(), 'posthorn-media-'));
  const config = testConfig({ DATA_DIR: dataDir, ...env });
  const media = await openMedia({ config, ...parts });
  const orm = await createOrm({ url: parts.url, entities: messagingEntities, name: 'test' });
  const metrics = createMetrics({ collectProcess: false });
  const hotDb = createDb({ url: parts.url, poolSize: 4, log: parts.log, name: 'test hot', plans: 'indexed' });
  const server = await createMessagingServer({
    ...parts,
    ...options,
    media,
    hotDb,
    config,
    orm,
    metrics,
    validateResponses: true,
  });
  const url = `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`;
  const { jwt } = createAccounts(parts, config).deps;
  const guard = createDocumentGuard('messaging');
  return {
    parts,
    media,
    config,
    server,
    url,
    call: async (method, path, request) => guard(method, path, await send(url + path, method, request)),
    jwtOf: async (company, options = {}) =>
      jwt.sign({
        companyId: company.companyId,
        userId: company.userId,
        role: company.principal.role,
        isSuperadmin: options.isSuperadmin ?? false,
        // In the future: no change of the password in a test makes it too old.
        pwdChangedAtMs: Date.now() + 3_600_000,
        ...(await seedSession(parts.db, company)),
      }),
    async close() {
      await server.close();
      await media.close();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
      await orm.close();
      await hotDb.close();
      await parts.close();
    },
  };
}

async function send(url: string, method: string, request: Request = {}): Promise<Answer> {
  const { key, jwt, headers, body, raw } = request;
  const sends = raw !== undefined || body !== undefined;
  const response = await fetch(url, {
    method,
    redirect: 'manual',
    ...(sends ? { body: raw ?? JSON.stringify(body) } : {}),
    headers: {
      ...(sends ? { 'content-type': 'application/json' } : {}),
      ...(key ? { 'x-api-key': key } : {}),
      ...(jwt ? { authorization: `Bearer ${jwt}` } : {}),
      ...headers,
    },
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') && text !== '';
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? JSON.parse(text) : undefined,
  };
}
