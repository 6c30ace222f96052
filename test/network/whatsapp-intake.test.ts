/** When a session stops reading its connection, and when it continues: without a network. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createIntake, sizeOf } from '@posthorn/network/whatsapp/intake.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

const LIMITS = { sessionBytes: 100, askingBytes: 400, processBytes: 1_000, signOfLifeMs: 600 };
/** By then a paused session has checked whether it may continue. */
const LOOKED_MS = 350;

function newIntake(limits = LIMITS) {
  const intake = createIntake(limits);
  return {
    intake,
    open() {
      const connection = { isPaused: false, isAsking: false, resumed: 0 };
      const session = intake.open({
        pause() {
          connection.isPaused = true;
        },
        resume() {
          if (connection.isPaused) connection.resumed += 1;
          connection.isPaused = false;
        },
        isAsking: () => connection.isAsking,
      });
      return { connection, session };
    },
  };
}

describe('a session', () => {
  test('stops reading above its limit, and reads on when half of that is recorded', () => {
    const { intake, open } = newIntake();
    const { connection, session } = open();
    const releases = [session.hold(60), session.hold(40)];
    assert.equal(connection.isPaused, false);
    releases.push(session.hold(1));
    assert.equal(connection.isPaused, true);
    releases[1]!();
    assert.equal(connection.isPaused, true);
    releases[0]!();
    assert.equal(connection.isPaused, false);
    releases[2]!();
    assert.equal(intake.heldBytes(), 0);
  });

  test('reads on while it waits for an answer, up to a higher limit', async () => {
    const { connection, session } = newIntake().open();
    session.hold(300);
    assert.equal(connection.isPaused, true);
    connection.isAsking = true;
    await until(() => !connection.isPaused, 'that it reads on');
    session.hold(100);
    assert.equal(connection.isPaused, false);
    session.hold(1);
    assert.equal(connection.isPaused, true);
    session.close();
  });

  test('gets a piece now and then while nothing is recorded, so that its connection shows that it lives', async () => {
    const { connection, session } = newIntake().open();
    session.hold(101);
    await until(() => connection.resumed === 1, 'that it reads a piece');
    session.hold(1);
    assert.equal(connection.isPaused, true);
    session.close();
  });

  test('gets none any more above the highest limit', async () => {
    const { connection, session } = newIntake().open();
    session.hold(401);
    await delay(LIMITS.signOfLifeMs + LOOKED_MS);
    assert.deepEqual([connection.isPaused, connection.resumed], [true, 0]);
    session.close();
  });

  test('that closes is read, so that the close is noticed, and no longer counts', () => {
    const { intake, open } = newIntake();
    const { connection, session } = open();
    const release = session.hold(101);
    session.close();
    release();
    session.hold(5)();
    session.hold(500);
    assert.deepEqual([connection.isPaused, intake.heldBytes()], [false, 0]);
  });
});

test('when all sessions together hold too much, only those stop that hold more than an even part', async () => {
  const { intake, open } = newIntake({ ...LIMITS, processBytes: 150 });
  const [large, small] = [open(), open()];
  const release = large.session.hold(90);
  small.session.hold(10);
  assert.equal(large.connection.isPaused, false);
  small.session.hold(51);
  assert.deepEqual([large.connection.isPaused, small.connection.isPaused], [false, false]);
  // Two sessions hold data, so each may hold 75.
  large.session.hold(1);
  assert.deepEqual([large.connection.isPaused, small.connection.isPaused], [true, false]);
  small.session.hold(1);
  assert.equal(small.connection.isPaused, false);
  release();
  assert.equal(large.connection.isPaused, false);
  assert.equal(intake.heldBytes(), 63);
  large.session.close();
  small.session.close();
});

test('the size of a message are its characters and bytes, at any depth', () => {
  const message = { a: 'four', b: [{ c: new Uint8Array(3), d: null, e: 7 }], f: undefined };
  assert.equal(sizeOf(message), 7);
  assert.equal(sizeOf(null), 0);
});
