import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { InboundMessage, PostedBody, SessionSink } from '@posthorn/core/network/driver.ts';
import { bodyOf } from '@posthorn/network/sandbox/graph/post.ts';
import { type HandOver, startHandOver } from '@posthorn/network/whatsapp-cloud/hand-over.ts';
import { waitFor } from '../support/process.ts';

const OWN = { phoneNumberId: '1', businessAccountId: '2', phone: '5531900000000' };
const ANN = '5531900000001';
const BOB = '5531900000002';

function text(from: string, id: string): object {
  return { id, from, timestamp: '1790000000', type: 'text', text: { body: id } };
}
function picture(from: string, id: string): object {
  return { id, from, timestamp: '1790000000', type: 'image', image: { id: '9', mime_type: 'image/png' } };
}

describe('the hand-over of webhooks', () => {
  let waiting: PostedBody[];
  let told: string[];
  /** Messages that are not recorded yet. */
  let held: Map<string, PromiseWithResolvers<void>>;
  let handOver: HandOver;
  let posted: number;
  let look: () => void;
  beforeEach(() => {
    waiting = [];
    told = [];
    held = new Map();
    posted = 0;
    start();
  });

  function start(): void {
    const sink = {
      async inbound(messages: readonly InboundMessage[]) {
        for (const { networkId } of messages) await held.get(networkId)?.promise;
        told.push(...messages.map(({ networkId }) => networkId));
      },
      async facts() {},
    };
    handOver = startHandOver({
      inbox: {
        next: async (limit, except) => waiting.filter(({ id }) => !except.includes(id)).slice(0, limit),
        async done(ids) {
          waiting = waiting.filter(({ id }) => !ids.includes(id));
        },
        onArrival(onArrival) {
          look = onArrival;
          return () => undefined;
        },
      },
      sink: sink as unknown as SessionSink,
      ...{ log: { warn() {} }, instanceId: 'x', own: () => ({ ...OWN, now: new Date() }), onTold() {} },
    });
  }

  function post(...messages: object[]): void {
    const value = { metadata: { phone_number_id: OWN.phoneNumberId }, messages };
    posted += 1;
    waiting.push({ id: `${posted}`, body: bodyOf({ businessId: '2' }, [{ field: 'messages', value }]) });
    look();
  }
  const hold = (id: string) => held.set(id, Promise.withResolvers()).get(id)!;
  const has = (ids: readonly string[]) => waitFor(() => told.length >= ids.length);

  it('delays only the chat of a message that waits for its media', async () => {
    const { resolve } = hold('picture');
    post(text(ANN, 'first'));
    post(picture(ANN, 'picture'));
    post(text(ANN, 'behind it'), text(BOB, 'of another'));
    await has(['first', 'of another']);
    post(text(ANN, 'last'));
    post(text(BOB, 'another one'));
    await has(['first', 'of another', 'another one']);
    assert.deepEqual(told, ['first', 'of another', 'another one']);
    assert.deepEqual(
      waiting.map(({ id }) => id),
      ['2', '3', '4'],
      'what is not recorded as a whole stays',
    );
    resolve();
    await waitFor(() => waiting.length === 0);
    assert.deepEqual(told.slice(3), ['picture', 'behind it', 'last']);
    post(text(ANN, 'afterwards'));
    await waitFor(() => waiting.length === 0);
    assert.equal(told.at(-1), 'afterwards');
    await handOver.stop();
  });

  it('is continued in order by the next session after its session has ended', async () => {
    const { resolve } = hold('picture');
    post(picture(ANN, 'picture'));
    post(text(ANN, 'behind it'));
    await delay(100);
    post(text(ANN, 'last'), text(BOB, 'of another'));
    await has(['of another']);
    const stopped = handOver.stop();
    held.clear();
    resolve();
    await stopped;
    start();
    await waitFor(() => waiting.length === 0);
    assert.deepEqual(
      told.filter((id, at) => id !== 'of another' && told.indexOf(id) === at),
      ['picture', 'behind it', 'last'],
    );
    await handOver.stop();
  });

  it('reads no more bodies than may wait at a time', async () => {
    const { resolve } = hold('picture');
    post(picture(ANN, 'picture'));
    for (let count = 0; count < 400; count += 1) post(text(ANN, `text ${count}`));
    post(text(BOB, 'of another'));
    await delay(300);
    assert.deepEqual(told, []);
    resolve();
    await waitFor(() => waiting.length === 0);
    assert.equal(told.length, 402);
    const own = told.filter((id) => id !== 'of another');
    assert.deepEqual(own, ['picture', ...Array.from({ length: 400 }, (_, count) => `text ${count}`)]);
    await handOver.stop();
  });
});
