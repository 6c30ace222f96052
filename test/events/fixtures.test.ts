import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { EVENT_TYPES, eventPayloads } from '@posthorn/contract/events.ts';
import { insertEvents } from '@posthorn/core/events/insert-events.ts';
import { WebSocket } from 'ws';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { projectRoot, waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';
import { seedWebhook, startDispatcher, startReceiver } from '../webhooks/support.ts';
import { renderEventsDoc } from './events-doc.ts';
import { eventFixtures } from './fixtures.ts';
import { newEvent, readSse } from './support.ts';

let messaging: TestMessaging;
let company: SeededCompany;
before(async () => {
  messaging = await startTestMessaging();
  company = await seedCompany(messaging.parts.db);
});
after(() => messaging.close());

test('every event name has one example, which its schema accepts unchanged', () => {
  assert.deepEqual(Object.keys(eventFixtures).toSorted(), [...EVENT_TYPES].toSorted());
  for (const type of EVENT_TYPES)
    assert.deepEqual(eventPayloads[type].parse(eventFixtures[type]), eventFixtures[type], type);
});

test('docs/events.md shows every event as it is', () => {
  const doc = readFileSync(path.join(projectRoot, 'docs/events.md'), 'utf8');
  assert.equal(doc, renderEventsDoc(), 'out of date: node test/events/write-events-doc-main.ts');
});

test('every event is the same on webhook, SSE, WebSocket and GET /v1/events', async (t) => {
  const { parts, url } = messaging;
  const auth = { 'x-api-key': company.apiKey };
  const instanceId = await seedInstance(parts.db, company.companyId);
  const receiver = await startReceiver();
  t.after(receiver.close);
  await seedWebhook(parts.db, company.companyId, receiver.url);
  const dispatcher = await startDispatcher(parts);
  t.after(dispatcher.close);
  const sse = await readSse(`${url}/v1/events/stream`, auth);
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/events/ws`, { headers: auth });
  t.after(() => socket.terminate());
  const frames: Record<string, unknown>[] = [];
  let heartbeats = 0;
  socket.on('message', (data) => {
    const frame = JSON.parse(String(data));
    if (frame.heartbeat) heartbeats += 1;
    else frames.push(frame);
  });
  await waitFor(() => heartbeats > 0, undefined, { what: 'the cursor of the present' });

  const events = EVENT_TYPES.map((type) =>
    newEvent(company.companyId, { type, instanceId, data: eventFixtures[type] as Record<string, unknown> }),
  );
  await insertEvents(parts.db, events);
  parts.bus.notify('events', String(company.companyId));
  parts.bus.notify('deliveries');
  const all = events.length;
  await waitFor(() => sse.frames.length >= all && frames.length >= all && receiver.requests >= all);
  sse.cut();
  const listed: Record<string, unknown>[] = [];
  for (let query = '?limit=50'; query !== ''; ) {
    const page = await messaging.call('GET', `/v1/events${query}`, { key: company.apiKey });
    listed.push(...page.body.data);
    query = page.body.next_cursor === null ? '' : `?limit=50&before=${page.body.next_cursor}`;
  }
  const byId = <T extends { event_id?: unknown }>(found: T[]) =>
    new Map(found.map(({ cursor: _, ...event }: T & { cursor?: unknown }) => [event.event_id, event]));
  const ways = {
    webhook: byId(receiver.received.map((request) => JSON.parse(request.body))),
    sse: byId(sse.frames.map((frame) => JSON.parse(frame.data))),
    websocket: byId(frames),
    list: byId(listed),
  };
  for (const event of events) {
    const expected = {
      event_id: event.eventId,
      type: event.type,
      created_at: event.createdAt.toISOString(),
      company_id: company.companyId,
      instance_id: instanceId,
      data: event.data,
    };
    for (const [way, found] of Object.entries(ways))
      assert.deepEqual(found.get(event.eventId), expected, `${event.type} by ${way}`);
  }
});
