/** One account that gets more messages than are recorded, beside others of the same process. */
import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { after, before, test } from 'node:test';
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { createIntake, ITEM_BYTES, LIMITS } from '@posthorn/network/whatsapp/intake.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import {
  pairWhatsApp,
  reopenWhatsApp,
  startNetwork,
  until,
  type WhatsAppInstance,
} from './whatsapp-harness.ts';

const isFull = process.env.POSTHORN_FULL === '1';
const COUNT = isFull ? 20_000 : 5_000;
const STUCK_MS = 1_500;
/** A quarter of the usual limits: all texts would be 20 MiB. */
const SMALL = { ...LIMITS, sessionBytes: 1024 * 1024, askingBytes: 4 * 1024 * 1024 };
/** A piece of 64 KiB that was read before the pause comes in addition, with some 200 texts. */
const PIECE_BYTES = 1024 * 1024;
const HELD_MAX_BYTES = SMALL.askingBytes + PIECE_BYTES;
/** More texts than a session may hold. */
const LEFT_OVER = 500;
/** Recorded texts that are kept in case the network repeats them, and those that come before the next check. */
const KEPT_MAX = 3_500;

let network: WhatsAppNetwork;
before(async () => {
  network = await startNetwork();
});
after(async () => {
  await network?.close();
  assert.deepEqual(network.problems, []);
});

const waitingTexts = ({ keys }: WhatsAppInstance) =>
  [...keys.rows.keys()].filter((name) => name.startsWith('plain\n')).length;

test('a flooded account holds a bounded part, keeps its connection, and gets everything once and in order', async (t) => {
  const [flooded, calm, friend] = ['5511900000001', '5511900000002', '5511900000003'].map((number) =>
    network.phone(number),
  );
  const intake = createIntake(SMALL);
  const recordedAgain = Promise.withResolvers<void>();
  const texts: unknown[] = [];
  const stuck = await pairWhatsApp(t, network, flooded!, {
    intake,
    sink: {
      async inbound(messages) {
        await recordedAgain.promise;
        texts.push(...messages.map(({ content }) => content.text));
      },
    },
  });
  const other = await pairWhatsApp(t, network, calm!, { intake });
  const { logins } = flooded!.device;

  const expected = Array.from({ length: COUNT }, (_, nth) => `text ${nth}`);
  let mostHeld = 0;
  const sampling = setInterval(() => {
    mostHeld = Math.max(mostHeld, intake.heldBytes());
  }, 10);
  t.after(() => clearInterval(sampling));
  for (const [nth, text] of expected.entries()) {
    friend!.text(flooded!, text);
    if (nth % 50 === 0) await nextTurn();
  }
  await delay(STUCK_MS);
  const decrypted = waitingTexts(stuck);
  t.diagnostic(`${decrypted} of ${COUNT} texts decrypted while none was recorded, ${mostHeld} bytes held`);
  assert.ok(
    decrypted * ITEM_BYTES < HELD_MAX_BYTES,
    `${decrypted} texts were decrypted while none was recorded`,
  );
  assert.ok(mostHeld <= HELD_MAX_BYTES, `${mostHeld} bytes were held`);

  friend!.text(calm!, 'and you?');
  await until(() => other.inbound.length > 0, 'the message to the other account');
  assert.equal(texts.length, 0);

  const standstill = monitorEventLoopDelay({ resolution: 10 });
  standstill.enable();
  recordedAgain.resolve();
  await until(() => texts.length >= COUNT, 'all texts', 200_000);
  t.diagnostic(
    `the process stood still for ${Math.round(standstill.max / 1e6)} ms at most while it caught up`,
  );
  assert.deepEqual(texts, expected);
  assert.deepEqual([stuck.ended, other.ended, flooded!.device.logins], [[], [], logins]);
  // The check comes with the next text.
  friend!.text(flooded!, 'the last');
  await until(() => waitingTexts(stuck) < KEPT_MAX, 'that texts recorded long ago are not kept');
  await until(() => intake.heldBytes() === 0, 'that nothing is held any more');
});

test('a session with more waiting messages than it may hold logs in, and the messages are recorded', async (t) => {
  const [flooded, friend] = ['5511900000011', '5511900000012'].map((number) => network.phone(number));
  const first = await pairWhatsApp(t, network, flooded!);
  const expected = Array.from({ length: LEFT_OVER }, (_, nth) => `text ${nth}`);
  for (const text of expected) friend!.text(flooded!, text);
  await until(() => first.inbound.length === LEFT_OVER, 'all texts');
  await first.session.close();

  const loggedIn = Promise.withResolvers<void>();
  const texts: unknown[] = [];
  await reopenWhatsApp(t, network, first, {
    // It is not read to show that it lives, which would let it log in.
    intake: createIntake({ ...SMALL, signOfLifeMs: Number.POSITIVE_INFINITY }),
    sink: {
      connected: loggedIn.resolve,
      async inbound(messages) {
        await loggedIn.promise;
        texts.push(...messages.map(({ content }) => content.text));
      },
    },
  });
  // The library's keep-alive asks after 25 s, and a session that asks continues to read.
  await until(() => texts.length === LEFT_OVER, 'the texts that were left over', 22_000);
  assert.deepEqual(texts, expected);
});
