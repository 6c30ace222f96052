import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

describe('sends that wait while an instance gets the credentials of another official number', () => {
  let cloud: CloudSending;
  let people = 0;
  before(async () => {
    cloud = await startCloudSending();
  });
  after(() => cloud?.close());

  /** The numbers that somebody got texts from. */
  const sendersTo = (person: string) =>
    cloud.graph.world.ledger.filter(({ to }) => to === person).map(({ from }) => from);

  /** An instance with an accepted text that waits, because its token is refused. */
  async function withWaiting(): Promise<{ instance: CloudInstance; person: string; waits: string }> {
    const instance = await cloud.connect();
    people += 1;
    const person = `55319${String(people).padStart(8, '0')}`;
    await cloud.greet(instance, person);
    instance.number.isTokenAlive = false;
    const waits = await cloud.send(instance, '/messages/text', { to: person, text: 'Waits' });
    await cloud.state(instance.id, 'DISCONNECTED');
    instance.number.isTokenAlive = true;
    return { instance, person, waits };
  }

  function addNumber() {
    people += 1;
    return cloud.graph.addNumber({ phone: `55219${String(people).padStart(8, '0')}` });
  }

  async function assertLeft(instance: CloudInstance, waits: string) {
    await cloud.reaches(instance, waits, 'failed');
    const [failed, ...more] = await cloud.eventsOf(waits);
    assert.deepEqual(
      [failed?.type, failed?.data.reason, failed?.data.wire_state, more],
      ['text.delivery_failed', 'account_changed', 'not_sent', []],
    );
  }

  it('fail with account_changed, and later ones go out from the new number', async () => {
    const { instance, person, waits } = await withWaiting();
    const number = addNumber();
    assert.equal((await cloud.give(instance.id, number)).status, 200);
    await cloud.state(instance.id, 'CONNECTED');
    await assertLeft(instance, waits);
    const renewed = { id: instance.id, number };
    await cloud.greet(renewed, person);
    const sent = await cloud.send(renewed, '/messages/text', { to: person, text: 'Hello' });
    await cloud.reaches(renewed, sent, 'delivered');
    assert.deepEqual(sendersTo(person), [number.id]);
  });

  it('fail also when the instance was logged out in between', async () => {
    const { instance, person, waits } = await withWaiting();
    await cloud.call(instance.id, 'POST', '/logout');
    assert.equal((await cloud.give(instance.id, addNumber())).status, 200);
    await cloud.state(instance.id, 'CONNECTED');
    await assertLeft(instance, waits);
    assert.deepEqual(sendersTo(person), []);
  });

  it('go out when the same number comes back after a logout', async () => {
    const { instance, person, waits } = await withWaiting();
    await cloud.call(instance.id, 'POST', '/logout');
    assert.equal((await cloud.give(instance.id, instance.number)).status, 200);
    await cloud.reaches(instance, waits, 'delivered');
    assert.deepEqual(sendersTo(person), [instance.number.id]);
  });

  it('go out from the new number when they are accepted after it was given', async () => {
    const { instance, person, waits } = await withWaiting();
    const number = addNumber();
    const renewed = { id: instance.id, number };
    // The owner of its shard is away: the change waits for the next one.
    await cloud.worker.stop();
    assert.equal((await cloud.give(instance.id, number)).status, 200);
    await cloud.api.parts.db.query(`UPDATE instances SET state = 'CONNECTED' WHERE id = $1`, [instance.id]);
    cloud.graph.write(person, number, 'text', { body: 'Hello' });
    const sent = await cloud.send(renewed, '/messages/text', { to: person, text: 'Hello' });
    await cloud.startWorker();
    await assertLeft(renewed, waits);
    await cloud.reaches(renewed, sent, 'delivered');
    assert.deepEqual(sendersTo(person), [number.id]);
  });

  it('are told of when the former number had taken them before', async () => {
    const instance = await cloud.connect({ humanize_enabled: false });
    people += 1;
    const person = `55319${String(people).padStart(8, '0')}`;
    await cloud.greet(instance, person);
    cloud.graph.poster(instance.number).hold(true);
    const sent = await cloud.send(instance, '/messages/text', { to: person, text: 'Hello' });
    await waitFor(async () => {
      const { rows } = await cloud.api.parts.db.query('SELECT 1 FROM outbox WHERE task_id = $1', [sent]);
      return rows.length === 0;
    });
    const number = addNumber();
    // Both are numbers of one app.
    number.appSecret = instance.number.appSecret;
    assert.equal((await cloud.give(instance.id, number)).status, 200);
    await cloud.greet({ id: instance.id, number }, person);
    cloud.graph.poster(instance.number).hold(false);
    await cloud.reaches(instance, sent, 'delivered');
  });
});
