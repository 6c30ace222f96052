import assert from 'node:assert/strict';
import { test } from 'node:test';
import { placeOf } from '@posthorn/cli/commands/events/since.ts';
import type { Client } from '@posthorn/sdk/index.ts';

interface Logged {
  type: string;
  created_at: string;
  cursor: string;
}

/** A service with these events, newest first. The filter `types` names one type; `onList` runs before each answer. */
function serviceWith(log: Logged[], onList: (types: string | undefined) => void = () => undefined): Client {
  const list = async ({ query }: { query: { types?: string[]; limit: number } }) => {
    onList(query.types?.[0]);
    const data = log.filter(({ type }) => !query.types || query.types.includes(type));
    return { data: data.slice(0, query.limit), next_cursor: null };
  };
  return { events: { list } } as unknown as Client;
}

const at = (second: number) => new Date(second * 1_000).toISOString();
const connected = { type: 'instance.connected', created_at: at(1), cursor: 'c1' };
const sent = { type: 'message.sent', created_at: at(2), cursor: 'c2' };
const filter = { types: ['message.sent'] };

test('a tail whose filter no event passes yet begins after the newest event of any type', async () => {
  assert.deepEqual(await placeOf(serviceWith([connected]), 0, filter), { first: null, cursor: 'c1' });
});

test('an event that comes while the tail looks back is shown', async () => {
  const log = [connected];
  const service = serviceWith(log, (types) => {
    if (types === undefined) queueMicrotask(() => log.unshift(sent));
  });
  assert.deepEqual(await placeOf(service, 0, filter), { first: sent, cursor: 'c2' });
});

test('an event that comes after the tail has looked back is newer than its starting place', async () => {
  const log = [connected];
  const service = serviceWith(log, (types) => {
    if (types !== undefined) setImmediate(() => log.unshift(sent));
  });
  assert.deepEqual(await placeOf(service, 0, filter), { first: null, cursor: 'c1' });
});

test('a log without events has no place to begin at', async () => {
  assert.equal(await placeOf(serviceWith([]), 0, filter), null);
});
