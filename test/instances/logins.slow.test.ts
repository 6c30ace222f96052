import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { NetworkDriver, NetworkSession, OpenRequest } from '@posthorn/core/network/driver.ts';
import type { ContractNetwork, ContractPhone } from '../driver-contract/network.ts';
import { startSandboxContract } from '../driver-contract/sandbox-network.ts';
import { startWhatsAppContract } from '../driver-contract/whatsapp-network.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';
import { type MemoryKeys, newKept, openRecorded, type Recorded } from '../support/whatsapp/driver-harness.ts';

const WAR_MS = process.env.POSTHORN_FULL === '1' ? 60_000 : 8_000;

for (const start of [startSandboxContract, startWhatsAppContract]) {
  describe(`a pairing that another program uses too, ${start === startSandboxContract ? 'sandbox' : 'whatsapp'}:`, () => {
    let network: ContractNetwork;
    let api: Sending;
    const logins: Logins = { opened: [], connected: 0, accounts: [], credentials: null };
    const { opened } = logins;
    before(async () => {
      network = await start();
      api = await startSending({ worker: { driver: counting(network.driver, logins) } });
    });
    after(async () => {
      await api?.close();
      await network?.close();
    });

    it('leaves the account to the other program until a person connects again', async (t) => {
      const phone = await network.newPhone();
      const instance = await pair(api, logins, phone);
      opened.splice(0, opened.length - 1);
      const rival = await startRival(network.driver, { ...opened[0]!, credentials: logins.credentials });
      t.after(rival.stop);
      await waitFor(async () => (await stateOf(api, instance)) === 'DISCONNECTED');
      await delay(WAR_MS);
      tellFigure(
        `logins in a login war of ${WAR_MS / 1_000} s on ${network.name}`,
        opened.length,
        { atMost: 2 },
        'logins',
      );
      assert.ok(opened.length <= 2, `${opened.length} logins`);
      const connection = await connectionOf(api, instance);
      assert.deepEqual([connection.state, connection.moves[0].reason], ['DISCONNECTED', 'replaced']);
      assert.match(connection.last_error, /another session of this account was opened/);
      assert.equal(await ends(api, instance), 1, 'one event');

      await rival.stop();
      const tried = opened.length;
      assert.equal((await api.call(instance, 'POST', '/connect')).status, 202);
      await waitFor(async () => (await stateOf(api, instance)) === 'CONNECTED', 30_000);
      assert.equal(opened.length, tried + 1);
      assert.equal((await connectionOf(api, instance)).last_error, null);
    });
  });
}

describe('an instance whose login the network has refused', () => {
  let whatsapp: Awaited<ReturnType<typeof startWhatsAppContract>>;
  let api: Sending;
  const logins: Logins = { opened: [], connected: 0, accounts: [], credentials: null };
  before(async () => {
    whatsapp = await startWhatsAppContract();
    api = await startSending({ worker: { driver: counting(whatsapp.driver, logins) } });
  });
  after(async () => {
    await api?.close();
    await whatsapp?.close();
  });

  for (const action of ['connect', 'restart']) {
    it(`logs in at once when a person asks by ${action}, and not an hour later`, async (t) => {
      t.after(() => {
        whatsapp.network.faults.failLogin = null;
      });
      const instance = await pair(api, logins, await whatsapp.newPhone());
      whatsapp.network.faults.failLogin = { reason: 405, times: 1 };
      await api.call(instance, 'POST', '/restart');
      const error = await waitFor(async () => (await connectionOf(api, instance)).last_error);
      assert.equal(error, 'the network no longer takes this version of the driver');

      const tried = logins.opened.length;
      // Two requests make one login.
      const asked = [
        await api.call(instance, 'POST', `/${action}`),
        await api.call(instance, 'POST', '/connect'),
      ];
      assert.deepEqual(
        asked.map(({ status }) => status),
        [202, 202],
      );
      await waitFor(async () => (await stateOf(api, instance)) === 'CONNECTED', 30_000);
      assert.equal(logins.opened.length, tried + 1);
    });
  }

  it('logs in again, once, when the owner before logs in late, and no event reports it', async () => {
    const instance = await pair(api, logins, await whatsapp.newPhone());
    const paired = logins.credentials;
    const { db } = api.api.parts;
    const own = () => logins.opened.filter(({ instanceId }) => instanceId === instance.id);
    const before = logins.accounts.filter((id) => id === instance.id).length;
    await db.query(
      `SELECT pg_terminate_backend(pid) FROM pg_locks
       WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    const connectedAgain = (times: number) =>
      waitFor(() => logins.accounts.filter((id) => id === instance.id).length === before + times, 30_000);
    const loginLate = async () => {
      const { keys } = own().at(-1)!;
      const kept = { ...newKept(), credentials: paired, keys: keys as MemoryKeys };
      const late = await openRecorded(whatsapp.driver, kept);
      // The instance logs in again at once, and may end this login before it has heard that it is in.
      await waitFor(() => late.connected + late.ended.length > 0, 30_000);
      await late.session.close();
    };
    await connectedAgain(1);
    await loginLate();
    await connectedAgain(2);
    assert.equal(await stateOf(api, instance), 'CONNECTED');
    assert.equal(await ends(api, instance), 0);
    await loginLate();
    await waitFor(async () => (await stateOf(api, instance)) === 'DISCONNECTED', 30_000);
    assert.equal((await connectionOf(api, instance)).moves[0].reason, 'replaced');
  });

  it('reports that it is locked out before it was ever connected, and refuses to be pushed', async (t) => {
    t.after(() => {
      whatsapp.network.faults.failLogin = null;
    });
    whatsapp.network.faults.failLogin = { reason: 402, times: 1 };
    const instance = await create(api, '5511999999999');
    await waitFor(async () => (await stateOf(api, instance)) === 'HARD_PAUSED', 30_000);
    await refusesToBePushed(instance);
  });

  it('reports that it is locked out after it was connected, and refuses to be pushed', async (t) => {
    t.after(() => {
      whatsapp.network.faults.failLogin = null;
    });
    const instance = await pair(api, logins, await whatsapp.newPhone());
    whatsapp.network.faults.failLogin = { reason: 402, times: 1 };
    assert.equal((await api.call(instance, 'POST', '/restart')).status, 202);
    await waitFor(async () => (await stateOf(api, instance)) === 'HARD_PAUSED', 30_000);
    await refusesToBePushed(instance);
  });

  async function refusesToBePushed(instance: TestInstance): Promise<void> {
    for (const action of ['connect', 'restart']) {
      const { status, body } = await api.call(instance, 'POST', `/${action}`);
      assert.deepEqual([status, body.error_code], [409, 'INVALID_INSTANCE_TRANSITION'], action);
    }
  }
});

interface Logins {
  /** Each login that the worker tried. */
  opened: OpenRequest[];
  /** Logins that the network accepted, also after a pairing. */
  connected: number;
  /** The instances of these logins. */
  accounts: string[];
  /** The credentials of the pairing. */
  credentials: unknown;
}

/** The worker's driver, under the name that seeded instances have. */
function counting(driver: NetworkDriver, logins: Logins): NetworkDriver {
  return {
    ...driver,
    name: 'sandbox',
    open(request, sink) {
      logins.opened.push(request);
      return driver.open(request, {
        ...sink,
        paired(identity) {
          logins.credentials = identity.credentials;
          return sink.paired(identity);
        },
        connected() {
          logins.connected += 1;
          logins.accounts.push(request.instanceId);
          sink.connected();
        },
      });
    },
  };
}

async function create(api: Sending, phone: string): Promise<TestInstance> {
  const { db, bus } = api.api.parts;
  const id = await seedInstance(db, api.company.companyId, { state: 'CREATED', wanted: 'connected' });
  bus.notify('instance', id);
  return { id, phone, jid: `${phone}@s.whatsapp.net` };
}

/** Resolves when the instance is connected, which on WhatsApp takes a second login after the pairing. */
async function pair(api: Sending, logins: Logins, phone: ContractPhone): Promise<TestInstance> {
  const before = logins.connected;
  const instance = await create(api, phone.number);
  const qr = await waitFor(async () => {
    const answer = await api.call(instance, 'GET', '/qr', undefined, { accept: 'application/json' });
    return answer.status === 200 && answer.body.qr;
  }, 30_000);
  await phone.pair(qr);
  await waitFor(() => logins.connected > before, 30_000);
  await waitFor(async () => (await stateOf(api, instance)) === 'CONNECTED', 30_000);
  return instance;
}

/** Another program with the same pairing, which logs in again each time that it is thrown out. */
async function startRival(driver: NetworkDriver, { credentials, keys, epoch }: OpenRequest) {
  let isStopped = false;
  let current: NetworkSession | null = null;
  async function login(): Promise<void> {
    if (isStopped) return;
    const sink = { disconnected: () => void login() };
    const kept = { ...newKept(), credentials, keys: keys as MemoryKeys, epoch: epoch - 1 };
    const recorded: Recorded = await openRecorded(driver, kept, { sink });
    current = recorded.session;
  }
  await login();
  return {
    stop: async () => {
      isStopped = true;
      await current?.close();
    },
  };
}

async function stateOf(api: Sending, instance: TestInstance): Promise<string> {
  return (await api.call(instance, 'GET', '')).body.state;
}

async function connectionOf(api: Sending, instance: TestInstance) {
  return (await api.call(instance, 'GET', '/connection')).body;
}

async function ends(api: Sending, { id }: TestInstance): Promise<number> {
  const { rows } = await api.api.parts.db.query(
    `SELECT 1 FROM events WHERE instance_id = $1 AND type IN ('instance.disconnected', 'instance.logged_out')`,
    [id],
  );
  return rows.length;
}
