import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { metaOf } from '@posthorn/contract/route-meta.ts';
import { seedInstance } from '../support/seed.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, refused } from './support/api-client.ts';
import { newOwner, type Person } from './support/people.ts';
import { sampleBody } from './support/sample-body.ts';

describe('ids of another company, on every route of the contract', () => {
  let server: AccountServer;
  let mine: Person;
  /** The ids of the neighbour's objects, by the path that names them. */
  let theirs: Record<string, string>;
  before(async () => {
    server = await startAccountServer();
    mine = await newOwner(server);
    const neighbour = await newOwner(server);
    const eventId = randomUUID();
    await server.db.query(
      `INSERT INTO events (tx, event_id, company_id, type, data, created_at) VALUES (1, $1, $2, 'x', '{}', now())`,
      [eventId, neighbour.companyId],
    );
    const made = async (path: string, body: unknown) =>
      String((await server.api('POST', path, { jwt: neighbour.jwt, body })).body.id);
    const playedId = randomUUID();
    await server.db.query(
      `INSERT INTO playground_sends (id, company_id, user_id, phone, shown_by, created_at)
       VALUES ($1, $2, $3, '9998', $1, now())`,
      [playedId, neighbour.companyId, neighbour.userId],
    );
    await server.db.query(
      `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
       VALUES ($1, 1, $1, 'outbound', 'text', '9998@s.whatsapp.net', 'sent', '{}', now())`,
      [playedId],
    );
    theirs = {
      '/v1/users/:id': String(neighbour.userId),
      '/v1/tokens/:id': await made('/v1/tokens', {}),
      '/v1/webhooks/:webhookId': await made('/v1/webhooks', { url: 'https://hooks.example.test/' }),
      '/v1/events/:eventId': eventId,
      '/v1/playground/messages/:messageId': playedId,
      '/v1/instances/:instanceId': await seedInstance(server.db, neighbour.companyId),
    };
    assert.ok(
      Object.values(theirs).every((id) => id && id !== 'undefined'),
      JSON.stringify(theirs),
    );
  });
  after(() => server.close());

  for (const { name, route } of listRoutes(messagingContract)) {
    const meta = metaOf(route);
    // Superadmins see every company; providers are not ids.
    if (!route.path.includes('/:') || meta.access === 'superadmin' || meta.access === 'public') continue;
    test(`${name}: the same bytes as an id that nobody has, or that is none`, async () => {
      const prefix = /^\/v1\/[\w/]+?\/:\w+/.exec(route.path)?.[0] ?? '';
      assert.ok(theirs[prefix], `say in this test what a neighbour has under ${prefix}`);
      const isUuid = theirs[prefix].includes('-');
      const ids = [theirs[prefix], isUuid ? randomUUID() : '99999999', 'none'];
      const rest = route.path
        .slice(prefix.length)
        .replace(/:(\w+)/g, (_, param: string) => (/^(id|logId)$/.test(param) ? '99999999' : randomUUID()));
      const answers: ApiAnswer[] = [];
      for (const id of ids)
        answers.push(
          await server.api(route.method, prefix.replace(/:\w+/, id) + rest, {
            key: mine.key,
            body: sampleBody(route),
            headers: meta.operation ? { 'idempotency-key': randomUUID() } : {},
          }),
        );
      for (const answer of answers) {
        refused(answer, 404, meta.notFound ?? 'NOT_FOUND');
        assert.deepEqual({ ...answer.body, trace_id: '' }, { ...answers[0]!.body, trace_id: '' });
      }
    });
  }
});
