/** LIM-10: every list is bounded by bytes, whatever its rows contain. A new list needs an entry in this table. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { billingContract } from '@posthorn/contract/billing/index.ts';
import { listRoutes } from '@posthorn/contract/list-routes.ts';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { iterate } from '@posthorn/sdk/index.ts';
import { z } from 'zod/v4';
import { newEvent } from '../events/support.ts';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { seedWebhook } from '../webhooks/support.ts';

const MB = 1024 * 1024;
/** A megabyte of row contents, and the JSON around it, quotes of JSON inside JSON included. */
const ANSWER_MAX_BYTES = 3 * MB;
const TEXT = 'a "text" of many, many characters: çé€ '.repeat(1_600).slice(0, 60_000);
const CHAT = '5511999990000@s.whatsapp.net';
const ROWS = 60;

/** Why a list needs no bound of its own: each of its rows is small, and there are few of them. */
const SMALL: Record<string, string> = {
  'usage.company': '24 hours and at most 1,000 instances: a name and numbers each',
  'users.list': 'names and addresses; as many as the plan allows',
  'tokens.list': 'names',
  'audit.list': 'ids and names in its details',
  'admin.listCompanies': 'names',
  'admin.listInstances': 'names; last_error has 1024 characters',
  'admin.ipReputation': 'one row an address of ours',
  'instances.list': 'settings; as many as the plan allows',
  'instances.connection': 'the last moves',
  'messages.votePoll': 'the options of one poll',
  'status.privacy': 'phones',
  'status.views': 'phones of contacts',
  'queue.list': 'ids and types, without content',
  'media.list': 'names and types, without content',
  'media.conversations': '1,000 rows of ids and sums',
  'chats.list': '100 characters of the last message',
  'chats.get': 'labels of one chat',
  'chats.read': 'labels of one chat',
  'chats.archive': 'labels of one chat',
  'chats.pin': 'labels of one chat',
  'chats.mute': 'labels of one chat',
  'contacts.list': 'names',
  'contacts.check': '50 phones',
  'labels.list': '20 labels',
  'labels.listChats': 'ids of chats',
  'groups.list': 'descriptions of 2048 characters, without participants',
  'groups.create': 'one group',
  'groups.join': 'one group',
  'groups.get': 'one group',
  'groups.update': 'one group',
  'groups.changeParticipants': 'what was asked for',
  'business.profile': 'one profile',
  'business.catalog': 'what the network answers in one page',
  'business.collections': 'what the network answers in one page',
  'templates.list': '100 templates; Meta bounds the text of each',
  'templates.create': 'one template',
  'webhooks.list': 'addresses, patterns and headers; as many as the plan allows',
  'webhooks.get': 'one webhook',
  'webhooks.create': 'one webhook',
  'webhooks.update': 'one webhook',
  'webhooks.retryLog': 'one log',
  'deliveries.metrics': 'numbers and an address; one row a webhook',
  'deliveries.retryBulk': 'what was asked for',
  'playground.show': 'examples of requests',
  'playground.message': 'the events of one message',
  'oauth.providers': 'two names at most',
  'openapi.document': 'the same for everybody',
  'billing.catalog.listPlans': 'the plans',
  'billing.catalog.listAddons': 'the add-ons',
  'billing.subscriptions.current': 'the items of one subscription',
  'billing.subscriptions.create': 'the items of one subscription',
  'billing.cards.list': 'the cards of one payer',
  'billing.charges.list': '200 charges; only those by PIX that are pending carry a code',
  'billing.admin.listEvents': 'names and states, without payloads',
  'billing.simulator.act': 'what one act caused',
  'billing.openapi.document': 'the same for everybody',
};

/** The lists whose rows may be large: the request for the largest page of each, and for the page after it. */
const LARGE: Record<string, (seeded: Seeded) => string> = {
  'messages.list': ({ instanceId }) => `/v1/instances/${instanceId}/messages?limit=200`,
  'scheduled.list': ({ instanceId }) => `/v1/instances/${instanceId}/messages/scheduled?limit=200`,
  'status.list': ({ instanceId }) => `/v1/instances/${instanceId}/status?limit=100`,
  'notes.list': ({ instanceId }) => `/v1/instances/${instanceId}/chats/${CHAT}/notes?limit=1000`,
  'events.list': () => '/v1/events?limit=200',
  'webhooks.logs': ({ webhookId }) => `/v1/webhooks/${webhookId}/logs?limit=100`,
  'webhooks.eventDeliveries': ({ eventId }) => `/v1/event-deliveries?event_id=${eventId}`,
  'deliveries.instanceEvents': ({ instanceId }) =>
    `/v1/webhooks/instance-events?instance_id=${instanceId}&limit=200`,
  'deliveries.events': () => '/v1/webhooks/events?limit=200',
  'deliveries.stuck': () => '/v1/webhooks/stuck?limit=200',
  'deliveries.companyLogs': () => '/v1/webhooks/company-delivery-logs?limit=100',
  'deliveries.logs': () => '/v1/webhooks/delivery-logs?limit=100',
  'feedback.list': () => '/v1/admin/feedback?limit=200',
};

interface Seeded extends SeededCompany {
  instanceId: string;
  webhookId: number;
  eventId: string;
}

let messaging: TestMessaging;
let seeded: Seeded;
let rootJwt: string;

before(async () => {
  messaging = await startTestMessaging({ SUPERADMIN_EMAILS: 'root@platform.test' });
  const { db } = messaging.parts;
  const company = await seedCompany(db);
  const { companyId, userId } = company;
  const instanceId = await seedInstance(db, companyId);
  const { id: webhookId } = await seedWebhook(db, companyId, `https://example.test/${'x'.repeat(2_000)}`);
  const rows = Array.from({ length: ROWS }, () => newId());
  const data = { text: TEXT };
  const events = rows.map(() => newEvent(companyId, { instanceId, type: 'message.sent', data }));
  await insertEvents(db, events);
  const all = [companyId, instanceId, rows] as const;
  await db.query(
    `INSERT INTO messages (id, company_id, instance_id, direction, type, chat_jid, status, content, created_at)
     SELECT id, $1, $2, 'inbound', 'text', $4, 'received', jsonb_build_object('text', $5::text), now()
     FROM unnest($3::uuid[]) AS id`,
    [...all, CHAT, TEXT],
  );
  await db.query(
    `INSERT INTO scheduled_sends (id, company_id, instance_id, type, send_at, status, body, idempotency_key, force,
       user_id, is_superadmin, created_at)
     SELECT id, $1, $2, 'text', now() + interval '1 day', 'scheduled', jsonb_build_object('text', $4::text), id, false, $5, false,
       now()
     FROM unnest($3::uuid[]) AS id`,
    [...all, TEXT, userId],
  );
  await db.query(
    `INSERT INTO status_feed (id, company_id, instance_id, status_id, direction, author_jid, type, content, posted_at)
     SELECT id, $1, $2, id::text, 'inbound', $4, 'text', $5, now() FROM unnest($3::uuid[]) AS id`,
    [...all, CHAT, TEXT],
  );
  await db.query(
    `INSERT INTO chat_notes (company_id, instance_id, chat_jid, note, author_user_id, created_at, updated_at)
     SELECT $1, $2, $3, $4, $5, now(), now() FROM generate_series(1, 400)`,
    [companyId, instanceId, CHAT, TEXT.slice(0, 8_192), userId],
  );
  await db.query(
    `INSERT INTO webhook_delivery_logs (company_id, webhook_id, webhook_url, instance_id, event_id, event_type,
       event_created_at, attempt, success, status_code, error_class, response, latency_ms, created_at)
     SELECT e.company_id, w.id, w.url, e.instance_id, e.event_id, e.type, e.created_at, 3, false, 404, 'permanent_4xx',
       left($2, 4096), 1, now()
     FROM events e JOIN webhooks w ON w.company_id = e.company_id
     CROSS JOIN LATERAL generate_series(1, CASE WHEN e.event_id = $3 THEN 400 ELSE 2 END)
     WHERE e.company_id = $1`,
    [companyId, TEXT, events[0]!.eventId],
  );
  await db.query(
    `INSERT INTO feedback (company_id, user_id, kind, message, state, created_at, updated_at)
     SELECT $1, $2, 'bug', repeat('🐛', 4000), 'open', now(), now() FROM generate_series(1, 200)`,
    [companyId, userId],
  );
  seeded = { ...company, instanceId, webhookId, eventId: events[0]!.eventId };
  const root = await db.query<{ id: number }>(`SELECT id FROM users WHERE email = 'root@platform.test'`);
  const principal = {
    ...company.principal,
    companyId: 1,
    userId: root.rows[0]!.id,
    role: 'superadmin' as const,
  };
  rootJwt = await messaging.jwtOf(
    { companyId: 1, userId: principal.userId, apiKey: '', principal },
    { isSuperadmin: true },
  );
});
after(() => messaging.close());

const routes = [...listRoutes(messagingContract), ...listRoutes(billingContract, 'billing.')];

/** The routes whose answer is a list, or contains one. */
function routesWithLists(): string[] {
  return routes
    .filter(({ route }) =>
      Object.entries(route.responses).some(
        ([status, schema]) => Number(status) < 300 && schema instanceof z.ZodType && hasList(schema),
      ),
    )
    .map(({ name }) => name);
}

function hasList(schema: z.ZodType): boolean {
  return /"type":"array"/.test(
    JSON.stringify(z.toJSONSchema(schema, { io: 'output', unrepresentable: 'any' })),
  );
}

const proofOf = (path: string) => (path.startsWith('/v1/admin') ? { jwt: rootJwt } : { key: seeded.apiKey });

interface Page {
  data?: Row[];
  logs?: Row[];
  notes?: Row[];
  next_cursor?: string | null;
  next_before?: number | null;
  page?: number;
  limit?: number;
  total?: number;
}
type Row = Record<string, unknown>;
const rowsOf = (page: Page) => page.data ?? page.logs ?? page.notes ?? [];

test('every list of the contract is known: bounded by bytes, or small for a reason', () => {
  const known = [...Object.keys(SMALL), ...Object.keys(LARGE)];
  assert.deepEqual(
    routesWithLists().filter((name) => !known.includes(name)),
    [],
  );
  const names = routes.map(({ name }) => name);
  assert.deepEqual(
    known.filter((name) => !names.includes(name)),
    [],
  );
});

describe('with the largest rows', () => {
  for (const [name, path] of Object.entries(LARGE))
    test(`${name} is bounded by bytes`, async () => {
      const asked = path(seeded);
      const answer = await messaging.call('GET', asked, proofOf(asked));
      assert.equal(answer.status, 200, answer.text.slice(0, 500));
      const bytes = Buffer.byteLength(answer.text);
      console.log(`${name}: ${rowsOf(answer.body).length} rows, ${Math.round(bytes / 1024)} kB`);
      assert.ok(rowsOf(answer.body).length > 0, 'it shows something');
      assert.ok(bytes <= ANSWER_MAX_BYTES, `${bytes} bytes`);
    });

  for (const [name, total] of [
    ['events.list', ROWS],
    ['messages.list', ROWS],
    ['notes.list', 400],
    ['feedback.list', 200],
  ] as const)
    test(`${name}: its cursor continues after a shortened page, and leaves nothing out`, async () => {
      const seen = new Set<unknown>();
      let pages = 0;
      for (let before: unknown = ''; before !== null; pages += 1) {
        const asked = `${LARGE[name]!(seeded)}${before === '' ? '' : `&before=${before}`}`;
        const { body } = await messaging.call('GET', asked, proofOf(asked));
        for (const row of rowsOf(body)) seen.add(row.event_id ?? row.message_id ?? row.id);
        before = body.next_cursor === undefined ? body.next_before : body.next_cursor;
        assert.ok(pages < 20, 'it ends');
      }
      assert.equal(seen.size, total);
      assert.ok(pages > 1, 'in several pages');
    });

  test('events and messages: the same with after, oldest first', async () => {
    for (const [path, id] of [
      [`/v1/events?limit=200&after=0-0-${Date.now().toString(36)}`, 'event_id'],
      [
        `/v1/instances/${seeded.instanceId}/messages?limit=200&after=00000000-0000-7000-8000-000000000000`,
        'message_id',
      ],
    ] as const) {
      const seen: unknown[] = [];
      let asked: string = path;
      for (let pages = 0; pages < 20; pages += 1) {
        const { body } = await messaging.call('GET', asked, { key: seeded.apiKey });
        seen.push(...rowsOf(body).map((row) => row[id]));
        if (body.next_cursor === null) break;
        asked = path.replace(/after=.*/, `after=${body.next_cursor}`);
      }
      assert.equal(new Set(seen).size, seen.length, 'each once');
      assert.equal(seen.length, ROWS);
    }
  });

  for (const [name, field, empty] of [
    ['scheduled.list', 'body', {}],
    ['status.list', 'content', ''],
    ['webhooks.logs', 'payload', ''],
    ['deliveries.companyLogs', 'payload', ''],
    ['deliveries.logs', 'payload', ''],
    ['webhooks.eventDeliveries', 'payload', ''],
  ] as const)
    test(`${name}: no row is left out, and one without its ${field} is marked`, async () => {
      const { body } = await messaging.call('GET', LARGE[name]!(seeded), { key: seeded.apiKey });
      const rows = rowsOf(body);
      const whole = rows.filter((row) => row[`${field}_omitted`] === undefined);
      const omitted = rows.filter((row) => row[`${field}_omitted`] === true);
      assert.deepEqual(rows, [...whole, ...omitted], 'those that are whole come first');
      assert.ok(whole.length > 0 && omitted.length > 0, `${whole.length} whole, ${omitted.length} not`);
      for (const row of whole) assert.ok(JSON.stringify(row[field]).length >= TEXT.length);
      for (const row of omitted) assert.deepEqual(row[field], empty);
      if (body.limit === undefined)
        return assert.equal(body.total_capped, true, 'it says that there are more');
      assert.equal(rows.length, Math.min(body.limit, body.total));
      const alone = LARGE[name]!(seeded).replace(/limit=\d+/, `limit=1&page=${rows.length}`);
      const last = await messaging.call('GET', alone, { key: seeded.apiKey });
      assert.equal(rowsOf(last.body)[0]![`${field}_omitted`], undefined, 'alone on its page it is whole');
    });

  test('the iterator of the SDK sees every row of a list with a cursor', async () => {
    const list = async ({ query }: { query?: Record<string, unknown> }) => {
      const params = new URLSearchParams({ limit: '200', ...(query as Record<string, string>) });
      const { body } = await messaging.call('GET', `/v1/events?${params}`, { key: seeded.apiKey });
      return body as { data: { event_id: string }[] };
    };
    let count = 0;
    for await (const _ of iterate(list, {})) count += 1;
    assert.equal(count, ROWS);
  });
});
