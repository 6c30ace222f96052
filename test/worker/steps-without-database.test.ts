import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { NetworkDriver, NetworkSession, SessionSink } from '@posthorn/core/network/driver.ts';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { type RunningWorker, startWorker } from '@posthorn/worker/worker.ts';
import { createParts, type Parts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const cipher = createCipher('0123456789abcdef'.repeat(4));

/** A report of the network or a request of a user, which comes once, and the expected end of the instance. */
const STORIES: {
  name: string;
  from?: string;
  happens?: (sink: SessionSink) => void;
  asks?: 'disconnected' | 'logged_out';
  ends: { state: string; opened: number; isPaired: boolean };
}[] = [
  {
    name: 'the network reports that the session is connected',
    happens: (sink) => sink.connected(),
    ends: { state: 'CONNECTED', opened: 1, isPaired: true },
  },
  {
    name: 'the session ends with an error',
    happens: (sink) => sink.disconnected('failed', 'the network is closed today'),
    ends: { state: 'DISCONNECTED', opened: 2, isPaired: true },
  },
  {
    name: 'the network bans the account',
    from: 'CONNECTED',
    happens: (sink) => sink.disconnected('banned'),
    ends: { state: 'BANNED', opened: 1, isPaired: true },
  },
  {
    name: 'the network ends the pairing of a connected instance',
    from: 'CONNECTED',
    happens: (sink) => sink.disconnected('logged_out'),
    ends: { state: 'DISCONNECTED', opened: 1, isPaired: false },
  },
  {
    name: 'the network ends the pairing of a disconnected instance',
    happens: (sink) => sink.disconnected('logged_out'),
    ends: { state: 'DISCONNECTED', opened: 1, isPaired: false },
  },
  {
    name: 'a user disconnects the instance',
    from: 'CONNECTED',
    asks: 'disconnected',
    ends: { state: 'DISCONNECTED', opened: 1, isPaired: true },
  },
  {
    name: 'a user logs the instance out',
    from: 'CONNECTED',
    asks: 'logged_out',
    ends: { state: 'DISCONNECTED', opened: 1, isPaired: false },
  },
];

/** How the database fails: it gave up waiting for a lock, as it also does while it is busy, or it refuses the write. */
const FAILURES = [
  { name: 'is late', code: '55P03' },
  { name: 'refuses the write', code: 'P0001' },
];

const REFUSED = 3;

describe('a change of an instance while the database fails is recorded once it works again', {
  concurrency: true,
}, () => {
  let parts: Parts;
  let companyId: number;
  let worker: RunningWorker;
  const sinksOf = new Map<string, SessionSink[]>();
  before(async () => {
    parts = await createParts();
    ({ companyId } = await seedCompany(parts.db));
    await parts.db.query(`
      CREATE TABLE failing (instance_id uuid, code text);
      CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$
      DECLARE chosen text := (SELECT code FROM failing WHERE instance_id = NEW.id);
      BEGIN
        IF chosen IS NOT NULL THEN
          PERFORM nextval(format('%I', 'refused of ' || NEW.id));
          RAISE EXCEPTION 'this update fails' USING ERRCODE = chosen;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER fail BEFORE UPDATE ON instances FOR EACH ROW
        WHEN (OLD.state <> NEW.state OR OLD.last_error IS DISTINCT FROM NEW.last_error
          OR OLD.credentials IS DISTINCT FROM NEW.credentials)
        EXECUTE FUNCTION fail();`);
    worker = await startOn(parts, sinksOf);
  });
  after(async () => {
    await worker.stop();
    await parts.close();
  });

  for (const failure of FAILURES) {
    for (const { name, from = 'DISCONNECTED', happens, asks, ends } of STORIES) {
      it(`${failure.name}: ${name}`, async () => {
        const { db, bus } = parts;
        const instanceId = await seedInstance(db, companyId, { state: from, wanted: 'connected' });
        await db.query(`CREATE SEQUENCE "refused of ${instanceId}"`);
        await db.query('UPDATE instances SET credentials = $2 WHERE id = $1', [instanceId, cipher.seal({})]);
        bus.notify('instance', instanceId);
        const sinks = () => sinksOf.get(instanceId) ?? [];
        await waitFor(() => sinks().length === 1);

        await db.query('INSERT INTO failing VALUES ($1, $2)', [instanceId, failure.code]);
        happens?.(sinks()[0]!);
        if (asks) {
          await db.query('UPDATE instances SET wanted = $2 WHERE id = $1', [instanceId, asks]);
          bus.notify('instance', instanceId);
        }
        await waitFor(async () => (await countRefused(parts, instanceId)) >= REFUSED);
        assert.equal((await lookAt(parts, instanceId)).state, from);
        await db.query('DELETE FROM failing WHERE instance_id = $1', [instanceId]);

        const now = async () => ({ ...(await lookAt(parts, instanceId)), opened: sinks().length });
        await waitFor(async () => isDeepStrictEqual(await now(), ends)).catch(() => undefined);
        assert.deepEqual(await now(), ends);
      });
    }
  }
});

async function lookAt({ db }: Parts, instanceId: string): Promise<{ state: string; isPaired: boolean }> {
  const { rows } = await db.query<{ state: string; is_paired: boolean }>(
    'SELECT state, credentials IS NOT NULL AS is_paired FROM instances WHERE id = $1',
    [instanceId],
  );
  return { state: rows[0]!.state, isPaired: rows[0]!.is_paired };
}

/** Uses a sequence, which also counts in a transaction that is rolled back. */
async function countRefused({ db }: Parts, instanceId: string): Promise<number> {
  const { rows } = await db.query<{ refused: string }>(
    `SELECT CASE WHEN is_called THEN last_value ELSE 0 END AS refused FROM "refused of ${instanceId}"`,
  );
  return Number(rows[0]!.refused);
}

/** A worker whose network reports nothing by itself. */
function startOn(parts: Parts, sinksOf: Map<string, SessionSink[]>): Promise<RunningWorker> {
  const driver: NetworkDriver = {
    name: 'sandbox',
    dedupes: true,
    window: 1,
    can: new Set(),
    async open({ instanceId }, sink) {
      sinksOf.set(instanceId, [...(sinksOf.get(instanceId) ?? []), sink]);
      const session: Partial<NetworkSession> = {
        close: async () => undefined,
        logout: async () => undefined,
        recorded: () => undefined,
      };
      return session as NetworkSession;
    },
  };
  return startWorker({
    ...parts,
    databaseUrl: parts.url,
    clock: systemClock,
    broker: createInProcessBroker(),
    cipher,
    driver,
    name: 'worker',
  });
}
