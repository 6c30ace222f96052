import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { sized } from '../support/size.ts';
import { settled } from './label-state.ts';

/** Rounds of changes over the API and on the phone at the same time, spread over the instances. */
const ROUNDS = sized(64, 200, 200);
const INSTANCES = 8;
/** In one of this many rounds the connection is cut in the middle. */
const CUT_EVERY = 20;
/** Few, so that both sides often change the same thing. */
const SLOTS = 2;
const CHATS = ['5511900000001@s.whatsapp.net'];
const KINDS = ['create', 'update', 'update', 'update', 'delete', 'put', 'put', 'take', 'take'] as const;

let pipeline: Sending;
before(async () => {
  pipeline = await startSending();
});
after(() => pipeline.close());

/** The same numbers for the same seed: a failed round can be replayed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

interface Labels {
  [slot: string]: { name: string; color: number; chats: string[] };
}

test(`${ROUNDS} random interleavings of changes on the API and on the phone: both sides end equal, and so do the events`, async () => {
  await Promise.all(
    Array.from({ length: INSTANCES }, async (_, nth) => {
      const instance = await pipeline.connect();
      const order = (fault: object) => pipeline.sandbox.post('/faults', { ...fault, instance: instance.id });
      // The network sends its news twice, too.
      if (nth % 2 === 1) await order({ kind: 'repeat_events' });
      // And the phone's echo, with its later changes, comes before the answer to the change: the API stores last.
      if (nth % 4 >= 2) {
        await order({ kind: 'delay_answers', delay_ms: 30, probability: 0.5 });
        await order({ kind: 'delay_answers', delay_ms: 90, probability: 0.3 });
      }
      for (let round = nth; round < ROUNDS; round += INSTANCES) await playRound(instance, round);
    }),
  );
});

async function playRound(instance: TestInstance, round: number): Promise<void> {
  const random = randomOf(round + 1);
  const steps = (count: number) => Array.from({ length: count }, () => drawStep(random));
  const onApi = steps(4);
  const onPhone = steps(8);
  const isCut = round % CUT_EVERY === CUT_EVERY - 1;
  await Promise.all([
    play(onApi, (step) => doOnApi(instance, step)),
    play(onPhone, (step) => doOnPhone(instance, step)),
    ...(isCut ? [cut(instance)] : []),
  ]);
  if (isCut) {
    await waitFor(
      async () => (await pipeline.call(instance, 'GET', '/connection')).body.state === 'CONNECTED',
      30_000,
    );
  }
  await settled(pipeline, instance);
  const expected = await phoneState(instance);
  const about = `round ${round}: ${JSON.stringify({ onApi, onPhone })}`;
  assert.deepEqual(await apiState(instance), expected, about);
  assert.deepEqual(await toldState(instance), expected, `the events of ${about}`);
}

interface Step {
  waitMs: number;
  kind: (typeof KINDS)[number];
  slot: string;
  name: string;
  color: number;
  chat: string;
}

function drawStep(random: () => number): Step {
  const pick = <T>(of: readonly T[]) => of[Math.floor(random() * of.length)]!;
  return {
    waitMs: Math.floor(random() * 15),
    kind: pick(KINDS),
    slot: String(1 + Math.floor(random() * SLOTS)),
    name: `n${Math.floor(random() * 1000)}`,
    color: Math.floor(random() * 20),
    chat: pick(CHATS),
  };
}

async function play(steps: readonly Step[], act: (step: Step) => Promise<unknown>): Promise<void> {
  for (const step of steps) {
    await delay(step.waitMs);
    await act(step);
  }
}

/** Chance decides whether a step finds its object: 400, 404 and 409 are valid answers, a fault of ours is not. */
async function doOnApi(instance: TestInstance, { kind, slot, name, color, chat }: Step): Promise<void> {
  const call = (method: string, path: string, body?: unknown) =>
    pipeline.call(instance, method, path, body, { 'idempotency-key': '' });
  const link = `/chats/${chat}/labels/${slot}`;
  const { status, text } = await {
    create: () => call('POST', '/labels', { name, color }),
    update: () => call('PATCH', `/labels/${slot}`, { name, color }),
    delete: () => call('DELETE', `/labels/${slot}`),
    put: () => call('POST', link),
    take: () => call('DELETE', link),
  }[kind]();
  assert.ok([200, 201, 204, 400, 404, 409, 503].includes(status), `${kind}: ${status} ${text}`);
}

async function doOnPhone(instance: TestInstance, { kind, slot, name, color, chat }: Step): Promise<void> {
  const post = (action: string, body: object) =>
    pipeline.sandbox.call('POST', `/phones/${instance.phone}/${action}`, body);
  const { status } = await {
    create: () => post('label', { name, color }),
    update: () => post('label', { label_id: slot, name, color }),
    delete: () => post('label', { label_id: slot, deleted: true }),
    put: () => post('put-label', { label_id: slot, chat }),
    take: () => post('put-label', { label_id: slot, chat, associated: false }),
  }[kind]();
  assert.ok([200, 404, 409].includes(status), `${kind} on the phone: ${status}`);
}

async function cut(instance: TestInstance): Promise<void> {
  await delay(20);
  await pipeline.sandbox.post('/faults', { kind: 'drop', at: 'now', instance: instance.id });
}

async function phoneState({ phone }: TestInstance): Promise<Labels> {
  const { labels } = await pipeline.sandbox.get(`/phones/${phone}/labels`);
  return Object.fromEntries(
    labels.map((label: { label_id: string; name: string; color: number; chats: string[] }) => {
      const { label_id, name, color, chats } = label;
      return [label_id, { name, color, chats: [...chats].sort() }];
    }),
  );
}

async function apiState(instance: TestInstance): Promise<Labels> {
  const { body } = await pipeline.call(instance, 'GET', '/labels');
  const state: Labels = {};
  for (const { label_id, name, color } of body.labels) {
    const { chats } = (await pipeline.call(instance, 'GET', `/labels/${label_id}/chats`)).body;
    state[label_id] = { name, color, chats: [...chats].sort() };
  }
  return state;
}

/** The state as a reader of the events alone knows it. */
async function toldState({ id }: TestInstance): Promise<Labels> {
  const { rows } = await pipeline.api.parts.db.query<{
    type: string;
    data: { label_id: string; name: string; color: number; chat: string };
  }>(`SELECT type, data FROM events WHERE instance_id = $1 AND type LIKE 'label.%' ORDER BY tx, id`, [id]);
  const state: Labels = {};
  for (const { type, data } of rows) {
    const { label_id: slot, name, color, chat } = data;
    const label = state[slot];
    if (type === 'label.created') {
      assert.equal(label, undefined, `created once: ${slot}`);
      state[slot] = { name, color, chats: [] };
    } else {
      assert.ok(label, `${type} of a label that is there: ${slot}`);
      if (type === 'label.updated') state[slot] = { ...label, name, color };
      if (type === 'label.deleted') delete state[slot];
      if (type === 'label.associated') {
        assert.ok(!label.chats.includes(chat), 'associated once');
        label.chats = [...label.chats, chat].sort();
      }
      if (type === 'label.dissociated') {
        assert.ok(label.chats.includes(chat), 'dissociated once');
        label.chats = label.chats.filter((other) => other !== chat);
      }
    }
  }
  return state;
}
