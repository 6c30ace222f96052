import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const ALICE = '5531900000010';
const HOUR_S = 3_600;
const nowS = () => Math.floor(Date.now() / 1_000);

describe('a status that says what became of a message', () => {
  let cloud: CloudSending;
  before(async () => {
    cloud = await startCloudSending();
  });
  after(() => cloud?.close());

  async function connect(): Promise<CloudInstance> {
    const instance = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(instance, ALICE);
    return instance;
  }
  async function sent(instance: CloudInstance): Promise<string> {
    const id = await cloud.send(instance, '/messages/text', { to: ALICE, text: 'Hello' });
    await cloud.reaches(instance, id, 'delivered');
    return cloud.graph.world.ledger.at(-1)!.id;
  }
  /** Posts a status of this time, and waits until the session has it. */
  async function tell(
    { number }: CloudInstance,
    status: { id: string; status: string; atS: number; code?: number; pricing?: Record<string, unknown> },
  ): Promise<void> {
    const { atS, code, ...rest } = status;
    const errors = code === undefined ? {} : { errors: [{ code }] };
    const told = { ...rest, timestamp: String(atS), recipient_id: ALICE, ...errors };
    cloud.graph.post(number, 'messages', { statuses: [told] });
    await cloud.drained();
  }
  const of = async ({ id }: CloudInstance) => (await cloud.call(id, 'GET', '')).body;
  const isRestricted = (instance: CloudInstance, by: string | null) =>
    waitFor(async () => (await of(instance)).restriction === by, undefined, { what: `restricted by ${by}` });
  /** Waits for a message that comes after what was told: the session has shown that by then. */
  const settled = (instance: CloudInstance) => cloud.greet(instance, ALICE);

  it('ends the session when the credentials have died since it began, and not when earlier ones had', async () => {
    const instance = await connect();
    const id = await sent(instance);
    await tell(instance, { id, status: 'failed', atS: nowS() - HOUR_S, code: 190 });
    await sent(instance);
    assert.equal((await of(instance)).state, 'CONNECTED');
    assert.deepEqual(await cloud.events(instance.id, 'instance.disconnected'), []);
    await tell(instance, { id: 'wamid.NOW', status: 'failed', atS: nowS() + 1, code: 190 });
    const down = await cloud.state(instance.id, 'DISCONNECTED');
    assert.match(down.last_error, /refuses the access token/);
  });

  it('lifts a restriction only when it is of a message that the network sent after it', async () => {
    const instance = await connect();
    const earlier = await sent(instance);
    const failedS = nowS() + 1;
    await tell(instance, { id: 'wamid.UNPAID', status: 'failed', atS: failedS, code: 131042 });
    await isRestricted(instance, 'payment_required');
    for (const [status, atS] of [
      ['read', failedS + 60],
      ['delivered', failedS + 60],
      ['sent', failedS - HOUR_S],
    ] as const) {
      await tell(instance, { id: earlier, status, atS });
      await settled(instance);
      assert.equal((await of(instance)).restriction, 'payment_required', `${status} at ${atS - failedS}`);
    }
    await tell(instance, { id: 'wamid.PAID', status: 'sent', atS: failedS + 60 });
    await isRestricted(instance, null);
    await tell(instance, { id: 'wamid.LATE', status: 'failed', atS: failedS, code: 131042 });
    await settled(instance);
    assert.equal((await of(instance)).restriction, null);
  });

  it('lifts no missing payment by a message that costs nothing', async () => {
    const instance = await connect();
    const failedS = nowS() + 1;
    await tell(instance, { id: 'wamid.UNPAID', status: 'failed', atS: failedS, code: 131042 });
    await isRestricted(instance, 'payment_required');
    const free = { billable: false, pricing_model: 'PMP', type: 'free_entry_point' };
    await tell(instance, { id: 'wamid.FREE', status: 'sent', atS: failedS + 60, pricing: free });
    await settled(instance);
    assert.equal((await of(instance)).restriction, 'payment_required');
    const paid = { billable: true, pricing_model: 'PMP', type: 'regular' };
    await tell(instance, { id: 'wamid.PAID', status: 'sent', atS: failedS + 61, pricing: paid });
    await isRestricted(instance, null);
  });

  it('leaves a missing payment when the quality of the number falls and rises', async () => {
    const instance = await connect();
    await tell(instance, { id: 'wamid.UNPAID', status: 'failed', atS: nowS() + 1, code: 131042 });
    await isRestricted(instance, 'payment_required');
    for (const event of ['FLAGGED', 'UNFLAGGED']) {
      cloud.graph.post(instance.number, 'phone_number_quality_update', { event });
      await settled(instance);
      assert.equal((await of(instance)).restriction, 'payment_required', event);
    }
  });

  async function connectAnew({ id }: CloudInstance): Promise<void> {
    await cloud.call(id, 'POST', '/disconnect');
    await cloud.state(id, 'DISCONNECTED');
    await cloud.call(id, 'POST', '/connect');
    await cloud.state(id, 'CONNECTED');
  }
  /** Posts news of the account, of this time. */
  async function post(
    instance: CloudInstance,
    field: 'account_update' | 'phone_number_quality_update',
    { atS, ...value }: { atS: number } & Record<string, unknown>,
  ): Promise<void> {
    cloud.graph.poster(instance.number).push({ field, value, time: atS });
    await cloud.drained();
  }

  it('leaves low quality when the instance connects anew, until later news of it', async () => {
    const instance = await connect();
    const event = (name: string, atS: number) =>
      post(instance, 'phone_number_quality_update', { event: name, atS });
    const flaggedS = nowS() - 60;
    await event('FLAGGED', flaggedS);
    await isRestricted(instance, 'quality_low');
    await event('UNFLAGGED', flaggedS - HOUR_S);
    await settled(instance);
    assert.equal((await of(instance)).restriction, 'quality_low');
    await connectAnew(instance);
    await isRestricted(instance, 'quality_low');
    await event('UNFLAGGED', flaggedS - HOUR_S);
    await settled(instance);
    assert.equal((await of(instance)).restriction, 'quality_low');
    await event('UNFLAGGED', flaggedS + 1);
    await isRestricted(instance, null);
    await connectAnew(instance);
    await settled(instance);
    assert.equal((await of(instance)).restriction, null);
  });

  it('bans no account that was reinstated since', async () => {
    const ban = { ban_info: { waba_ban_state: 'DISABLE' } };
    const isConnected = async (instance: CloudInstance) => {
      await settled(instance);
      assert.equal((await of(instance)).state, 'CONNECTED');
    };
    const instance = await connect();
    await post(instance, 'account_update', { ...ban, atS: nowS() - HOUR_S });
    await isConnected(instance);
    const sentS = nowS() + 60;
    await tell(instance, { id: 'wamid.SENT', status: 'sent', atS: sentS });
    await post(instance, 'account_update', { ...ban, atS: sentS - 1 });
    await isConnected(instance);
    const reinstated = { ban_info: { waba_ban_state: 'REINSTATE' } };
    await post(instance, 'account_update', { ...reinstated, atS: sentS + 60 });
    await connectAnew(instance);
    await post(instance, 'account_update', { ...ban, atS: sentS + 59 });
    await isConnected(instance);
    await post(instance, 'account_update', { ...ban, atS: sentS + 61 });
    await cloud.state(instance.id, 'BANNED');
  });

  it('bans an account that was disabled before its session began anew', async () => {
    const instance = await connect();
    const disabledS = nowS();
    await waitFor(() => nowS() > disabledS);
    await connectAnew(instance);
    await post(instance, 'account_update', { ban_info: { waba_ban_state: 'DISABLE' }, atS: disabledS });
    await cloud.state(instance.id, 'BANNED');
  });

  it('leaves a missing payment when the instance connects anew, until a later message goes out', async () => {
    const instance = await connect();
    const failedS = nowS() + 1;
    await tell(instance, { id: 'wamid.UNPAID', status: 'failed', atS: failedS, code: 131042 });
    await isRestricted(instance, 'payment_required');
    await cloud.call(instance.id, 'POST', '/disconnect');
    await cloud.state(instance.id, 'DISCONNECTED');
    await cloud.call(instance.id, 'POST', '/connect');
    await isRestricted(instance, 'payment_required');
    await tell(instance, { id: 'wamid.PAID', status: 'sent', atS: failedS + 60 });
    await isRestricted(instance, null);
  });
});
