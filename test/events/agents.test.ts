import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { NewEvent } from '@posthorn/core/events/insert-events.ts';
import { WebSocket } from 'ws';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { type SeededCompany, seedCompany } from '../support/seed.ts';
import { putEvent, readSse, startMessaging } from './support.ts';

let parts: Parts;
let server: { url: string; close(): Promise<void> };
before(async () => {
  parts = await createParts();
  server = await startMessaging(parts);
});
after(async () => {
  await server.close();
  await parts.close();
});

const keyOf = (company: SeededCompany) => ({ 'x-api-key': company.apiKey });
const types = (frames: { event: string }[]) => frames.map(({ event }) => event);

/** A pairing code between two events that every role may see. */
async function emit(companyId: number): Promise<NewEvent> {
  await putEvent(parts.db, companyId, { type: 'message.sent' });
  const data = {
    qr: '2@pairing-data',
    expires_at: '2026-01-31T12:00:20.000Z',
    timestamp: '2026-01-31T12:00:00.000Z',
  };
  const code = await putEvent(parts.db, companyId, { type: 'instance.qr_updated', data });
  await putEvent(parts.db, companyId, { type: 'message.delivered' });
  parts.bus.notify('events', String(companyId));
  return code;
}

async function get(path: string, headers: Record<string, string>) {
  const answer = await fetch(`${server.url}${path}`, { headers });
  return { status: answer.status, body: (await answer.json()) as { data: { type: string }[] } };
}

for (const [role, codes] of [
  ['agent', []],
  ['admin', ['instance.qr_updated']],
] as const)
  test(`${role}s get ${codes.length === 0 ? 'no code that pairs a phone' : 'the codes of a pairing'} by any way of events`, async () => {
    const company = await seedCompany(parts.db, { role });
    const headers = keyOf(company);
    const expected = ['message.sent', ...codes, 'message.delivered'];
    const live = await readSse(`${server.url}/v1/events/stream`, headers);
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events/ws`, { headers });
    const frames: string[] = [];
    socket.on('message', (text) => frames.push(JSON.parse(String(text)).type ?? 'control'));
    await waitFor(() => frames.length > 0);
    const code = await emit(company.companyId);
    await waitFor(() => live.frames.length === expected.length && frames.includes('message.delivered'));
    assert.deepEqual(types(live.frames), expected);
    assert.deepEqual(
      frames.filter((frame) => frame !== 'control'),
      expected,
    );
    live.cut();
    socket.terminate();

    const { body } = await get('/v1/events', headers);
    assert.deepEqual(
      body.data.map(({ type }) => type),
      expected.toReversed(),
    );
    const begin = body.data.at(-1) as { type: string; cursor?: string };
    const resumed = await readSse(`${server.url}/v1/events/stream?after=${begin.cursor}`, headers);
    await waitFor(() => types(resumed.frames).includes('message.delivered'));
    assert.deepEqual(types(resumed.frames), expected.slice(1));
    resumed.cut();
    const later = await get(`/v1/events?after=${begin.cursor}`, headers);
    assert.deepEqual(
      later.body.data.map(({ type }) => type),
      expected.slice(1),
    );
    const named = await get('/v1/events?types=instance.qr_updated,message.sent', headers);
    assert.deepEqual(
      named.body.data.map(({ type }) => type),
      [...codes, 'message.sent'],
    );
    assert.equal((await get(`/v1/events/${code.eventId}`, headers)).status, codes.length === 0 ? 404 : 200);
  });

test('a ticket opens a stream for the role that its holder has by then', async () => {
  const company = await seedCompany(parts.db, { role: 'admin' });
  const issued = await fetch(`${server.url}/v1/events/ticket`, { method: 'POST', headers: keyOf(company) });
  const { ticket } = (await issued.json()) as { ticket: string };
  await parts.db.query(`UPDATE users SET role = 'agent' WHERE id = $1`, [company.userId]);
  const reader = await readSse(`${server.url}/v1/events/stream?ticket=${ticket}`, {});
  await emit(company.companyId);
  await waitFor(() => types(reader.frames).includes('message.delivered'));
  reader.cut();
  assert.deepEqual(types(reader.frames), ['message.sent', 'message.delivered']);
});
