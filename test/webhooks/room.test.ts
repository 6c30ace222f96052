import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EndpointConfig } from '@posthorn/worker/webhooks/endpoint-config.ts';
import { noteNew, noteTaken, roomOf } from '@posthorn/worker/webhooks/endpoint-room.ts';
import { createEndpoints, type Endpoint, ID_MARGIN } from '@posthorn/worker/webhooks/endpoints.ts';

const NOW_MS = 1_000_000;
const ROOM = 8;

function readyEndpoint(): Endpoint {
  const endpoint = createEndpoints().get(1, 1);
  return Object.assign(endpoint, { config: {} as EndpointConfig });
}

test('an endpoint has room for deliveries that are being written unless older ones may be waiting', () => {
  assert.equal(roomOf(readyEndpoint(), NOW_MS), ROOM);
  const table: [name: string, change: Partial<Endpoint>, room: number][] = [
    ['two are under way', { inFlight: 2 }, ROOM - 2],
    ['some are being written', { reserved: 3 }, ROOM - 3],
    ['nothing is known of its webhook', { config: null }, 0],
    ['its webhook is being disabled', { changedAtMs: Number.POSITIVE_INFINITY }, 0],
    ['some wait in the database', { moreFresh: true }, 0],
    ['it was passed over in a transaction that is not over', { passedOver: 1 }, 0],
    ['some were given back', { hasReleased: true }, 0],
    ['some wait for its configuration', { holding: Promise.resolve() }, 0],
  ];
  for (const [name, change, room] of table)
    assert.equal(roomOf(Object.assign(readyEndpoint(), change), NOW_MS), room, name);
});

test('direct deliveries to an endpoint move the place where claims start to look, but not past older ones', () => {
  const endpoint = readyEndpoint();
  noteTaken(endpoint, 10_000, NOW_MS);
  assert.equal(endpoint.freshFromId, 10_000 - ID_MARGIN);
  for (const older of [{ hasReleased: true }, { moreFresh: true }]) {
    const behind: Endpoint = Object.assign(readyEndpoint(), older);
    noteTaken(behind, 10_000, NOW_MS);
    assert.equal(behind.freshFromId, 0);
  }
});

test('an endpoint is not forgotten while it has given room away or was passed over', () => {
  for (const [name, change] of [
    ['room', { reserved: 1 }],
    ['passed over', { passedOver: 1 }],
    ['waiting', { holding: Promise.resolve() }],
    ['idle', {}],
  ] as const) {
    const endpoints = createEndpoints();
    Object.assign(endpoints.get(1, 7), { activeAtMs: 0, ...change });
    endpoints.forgetIdle({ monotonicMs: NOW_MS });
    assert.equal(endpoints.all.size, name === 'idle' ? 0 : 1, name);
    assert.equal([...endpoints.ofCompany(7)].length, endpoints.all.size, name);
  }
});

test('deliveries that were found for an endpoint leave no room until a claim has asked for them', () => {
  const endpoint = readyEndpoint();
  noteNew(endpoint);
  assert.equal(roomOf(endpoint, NOW_MS), 0);
});
