import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, type TestContext, test } from 'node:test';
import type { NetworkDriver, SessionSink } from '@posthorn/core/network/driver.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createSandboxServer } from '@posthorn/network/sandbox/server.ts';
import {
  createOpeningGate,
  decideOpening,
  type OpeningLimits,
  type OpeningState,
} from '@posthorn/worker/sessions/opening-gate.ts';
import { startWorker } from '@posthorn/worker/worker.ts';
import { controlOf } from '../network/sandbox-harness.ts';
import { createParts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const LIMITS: OpeningLimits = { atOnce: 4, perSecond: 10 };

test('whether another session may be opened now', () => {
  const opens = (state: OpeningState) => ({ opens: true, state }) as const;
  const waits = (waitMs: number | null) => ({ opens: false, waitMs }) as const;
  const table: [state: OpeningState, nowMs: number, expected: ReturnType<typeof decideOpening>][] = [
    [{ underWay: 0, credit: 4, atMs: 0 }, 0, opens({ underWay: 1, credit: 3, atMs: 0 })],
    [{ underWay: 3, credit: 1, atMs: 0 }, 0, opens({ underWay: 4, credit: 0, atMs: 0 })],
    // The most openings are under way: only an end helps, however much credit there is.
    [{ underWay: 4, credit: 4, atMs: 0 }, 60_000, waits(null)],
    // The credit is spent: a tenth of a second earns one.
    [{ underWay: 1, credit: 0, atMs: 0 }, 0, waits(100)],
    [{ underWay: 1, credit: 0, atMs: 0 }, 60, waits(40)],
    [{ underWay: 1, credit: 0, atMs: 0 }, 100, opens({ underWay: 2, credit: 0, atMs: 100 })],
    // Quiet times save up no more openings than may be under way at once.
    [{ underWay: 0, credit: 0, atMs: 0 }, 3_600_000, opens({ underWay: 1, credit: 3, atMs: 3_600_000 })],
    // A clock that goes back earns nothing.
    [{ underWay: 0, credit: 0, atMs: 1_000 }, 0, waits(100)],
  ];
  for (const [state, nowMs, expected] of table)
    assert.deepEqual(decideOpening(state, LIMITS, nowMs), expected, JSON.stringify([state, nowMs]));
});

test('turns go by in order; one that is given up lets the next one in', () => {
  const gate = createOpeningGate({ atOnce: 2, perSecond: 1_000 }, () => 0);
  const called: number[] = [];
  const turns = Array.from({ length: 5 }, (_, n) => gate.turn(() => called.push(n)));
  assert.deepEqual(
    turns.map((turn) => turn.take()),
    [true, true, false, false, false],
  );
  assert.equal(turns[2]!.isWaiting(), true);
  assert.equal(turns[2]!.take(), false, 'it stands in the queue once');
  // The third no longer wants its turn.
  turns[2]!.end();
  const later = createOpeningGate({ atOnce: 2, perSecond: 1_000 });
  const [a, b, c] = Array.from({ length: 3 }, (_, n) => later.turn(() => called.push(n)));
  assert.deepEqual([a!.take(), b!.take(), c!.take()], [true, true, false]);
  a!.end();
  a!.end();
  return waitFor(async () => called.length === 1).then(() => {
    assert.deepEqual(called, [2]);
    assert.equal(c!.take(), true);
    c!.end();
    b!.end();
  });
});

describe('a worker that starts with 500 instances', () => {
  const INSTANCES = 500;
  const BOUNDS: OpeningLimits = { atOnce: 10, perSecond: 400 };
  /** Counts the openings that the network has not answered yet. */
  function counting(driver: NetworkDriver) {
    const told = { underWay: 0, most: 0, begunAtMs: [] as number[] };
    const open: NetworkDriver['open'] = (request, sink) => {
      told.underWay += 1;
      told.most = Math.max(told.most, told.underWay);
      told.begunAtMs.push(performance.now());
      let heard = false;
      const hear = () => {
        if (!heard) told.underWay -= 1;
        heard = true;
      };
      const listening: SessionSink = {
        ...sink,
        // Counted before the sink is called, which may let the next one in at once.
        qr(qr, expiresAt) {
          hear();
          sink.qr(qr, expiresAt);
        },
        connected() {
          hear();
          sink.connected();
        },
        disconnected(reason) {
          hear();
          sink.disconnected(reason);
        },
      };
      return driver.open(request, listening);
    };
    return { told, driver: { ...driver, open } };
  }

  /** A worker that loses its locks opens its sessions again, as it should: such openings do not count. */
  async function startNetwork() {
    const lines: string[] = [];
    const log = createLog({ level: 'warn', role: 'test', to: { write: (line) => void lines.push(line) } });
    const parts = await createParts({ log });
    const sandbox = await createSandboxServer({ autoPair: true, autoPairDelayMs: 0 });
    const { companyId } = await seedCompany(parts.db);
    for (let n = 0; n < INSTANCES; n++)
      await seedInstance(parts.db, companyId, { state: 'CREATED', wanted: 'connected' });
    return {
      parts,
      sandbox,
      lostItsLocks: () => lines.some((line) => line.includes('the connection that holds the locks is lost')),
      async close() {
        await sandbox.close();
        await parts.close();
      },
    };
  }
  type Network = Awaited<ReturnType<typeof startNetwork>>;

  async function startCounted({ parts, sandbox }: Network) {
    const { told, driver } = counting(createSandboxDriver({ url: sandbox.url }));
    const worker = await startWorker({
      ...parts,
      databaseUrl: parts.url,
      clock: systemClock,
      broker: createInProcessBroker(),
      cipher: createCipher('0123456789abcdef'.repeat(4)),
      driver,
      openings: BOUNDS,
      name: `worker ${randomUUID()}`,
    });
    return { told, worker };
  }

  const live = async ({ sandbox }: Network) => {
    const { accounts } = await controlOf(sandbox.controlUrl).get('/sessions');
    return accounts.filter((account: { live: number }) => account.live === 1).length;
  };

  /** False when the worker lost its locks meanwhile. */
  async function opensAll(network: Network, round: string): Promise<boolean> {
    const { told, worker } = await startCounted(network);
    try {
      await waitFor(async () => worker.counts().sessions === INSTANCES, 60_000);
      await waitFor(
        async () => {
          const { rows } = await network.parts.db.query<{ n: number }>(
            `SELECT count(*)::integer AS n FROM instances WHERE state = 'CONNECTED'`,
          );
          return rows[0]!.n === INSTANCES && told.underWay === 0 && told.begunAtMs.length >= INSTANCES;
        },
        120_000,
        { what: `${INSTANCES} ${round} instances are connected` },
      );
      if (network.lostItsLocks()) return false;
      assert.equal(told.begunAtMs.length, INSTANCES, round);
      assert.ok(told.most <= BOUNDS.atOnce, `${round}: ${told.most} at once`);
      assert.ok(told.most > 1, `${round}: one after the other`);
      // In each second there are at most the burst and the openings that a second earns.
      for (const [nth, at] of told.begunAtMs.entries()) {
        const within = told.begunAtMs.slice(nth).filter((other) => other - at < 1_000).length;
        assert.ok(within <= BOUNDS.atOnce + BOUNDS.perSecond + 1, `${round}: ${within} in a second`);
      }
      await waitFor(async () => (await live(network)) === INSTANCES, 60_000);
      return true;
    } finally {
      await worker.stop();
    }
  }

  test('opens them staggered and bounded, unpaired or paired, and each of them once', async () => {
    for (let tries = 1, isDone = false; !isDone; tries += 1) {
      assert.ok(tries <= 5, 'it loses its locks again and again');
      const network = await startNetwork();
      try {
        isDone = (await opensAll(network, 'unpaired')) && (await opensAll(network, 'paired'));
      } finally {
        await network.close();
      }
    }
  });
});

describe('a worker with another ENCRYPTION_KEY', () => {
  const sealed = createCipher('ab'.repeat(32));

  /** An instance that is to be connected, with values that another key has sealed, and a worker. */
  async function startWith(t: TestContext, values: { credentials?: Buffer; proxy?: Buffer }) {
    const lines: string[] = [];
    const log = createLog({ level: 'warn', role: 'test', to: { write: (line) => void lines.push(line) } });
    const parts = await createParts({ log });
    t.after(() => parts.close());
    const { companyId } = await seedCompany(parts.db);
    const instanceId = await seedInstance(parts.db, companyId, { wanted: 'connected' });
    await parts.db.query('UPDATE instances SET credentials = $2, proxy = $3 WHERE id = $1', [
      instanceId,
      values.credentials ?? null,
      values.proxy ?? null,
    ]);
    const worker = await startWorker({
      ...parts,
      databaseUrl: parts.url,
      clock: systemClock,
      broker: createInProcessBroker(),
      cipher: createCipher('cd'.repeat(32)),
      driver: createSandboxDriver({ url: 'ws://127.0.0.1:1/ws' }),
      name: `worker ${randomUUID()}`,
    });
    t.after(() => worker.stop());
    return { parts, instanceId, lines };
  }

  test('reports why it opens no session', async (t) => {
    const { instanceId, lines } = await startWith(t, {
      credentials: sealed.seal({ token: 'of the network' }),
    });
    await waitFor(async () => lines.some((line) => line.includes('another ENCRYPTION_KEY')), 20_000);
    assert.match(lines.join(''), new RegExp(`"instance_id":"${instanceId}".*opening the session failed`));
  });

  test('tells users of a proxy that only they can set again', async (t) => {
    const { parts, instanceId } = await startWith(t, { proxy: sealed.seal('socks5://proxy.example:1080') });
    await waitFor(
      async () => {
        const { rows } = await parts.db.query('SELECT last_error FROM instances WHERE id = $1', [instanceId]);
        return rows[0]!.last_error === 'the proxy can no longer be read: set it again';
      },
      20_000,
      { what: 'the error is shown' },
    );
  });
});
