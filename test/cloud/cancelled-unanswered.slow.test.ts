import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

describe('a send whose answer was lost, which the network may have', () => {
  let cloud: CloudSending;
  let people = 0;
  before(async () => {
    cloud = await startCloudSending({
      worker: { deferral: { expiresMs: 600_000, retryMs: 100, unansweredMs: 8_000 } },
    });
  });
  after(() => cloud?.close());

  /** An instance with a text that the network took without an answer, and whose statuses are held back. */
  async function withUnanswered(): Promise<{ instance: CloudInstance; person: string; id: string }> {
    const instance = await cloud.connect({ humanize_enabled: false, anti_spam_guard_enabled: true });
    people += 1;
    const person = `55319${String(people).padStart(8, '0')}`;
    await cloud.greet(instance, person);
    cloud.graph.poster(instance.number).hold(true);
    cloud.graph.fault({ kind: 'lose_answer', at: 'after' }, { person, times: 1 });
    const id = await cloud.send(instance, '/messages/text', { to: person, text: 'Hello' });
    await waitFor(() => cloud.graph.world.ledger.some(({ to }) => to === person));
    await waitFor(async () => {
      const { rows } = await cloud.api.parts.db.query<{ attempts: number }>(
        'SELECT attempts FROM outbox WHERE task_id = $1',
        [id],
      );
      return rows[0]?.attempts === 1;
    });
    return { instance, person, id };
  }

  it('is not cancelled, as the recipient may have it', async () => {
    const { instance, person, id } = await withUnanswered();
    const cancelled = await cloud.call(instance.id, 'DELETE', `/queue/${id}`);
    assert.equal(cancelled.status, 409, cancelled.text);
    cloud.graph.poster(instance.number).hold(false);
    await cloud.reaches(instance, id, 'delivered');
    const again = await cloud.call(instance.id, 'POST', '/messages/text', { to: person, text: 'Hello' });
    assert.equal(again.body.error_code, 'BLOCKED_DUPLICATE_CONTENT', again.text);
  });

  it('is not told as not sent when the instance gets the credentials of another number', async () => {
    const { instance, id } = await withUnanswered();
    const number = cloud.graph.addNumber({ phone: `55219${String(people).padStart(8, '0')}` });
    assert.equal((await cloud.give(instance.id, number)).status, 200);
    await cloud.reaches(instance, id, 'failed');
    const [failed] = await cloud.eventsOf(id);
    assert.deepEqual([failed?.data.reason, failed?.data.wire_state], ['outcome_unknown', 'unknown']);
  });

  it('nor when a worker is asked to cancel it that took the instance over', async () => {
    const { instance, id } = await withUnanswered();
    await cloud.worker.stop();
    await cloud.startWorker();
    await waitFor(async () => {
      const { status } = await cloud.call(instance.id, 'DELETE', `/queue/${id}`);
      return status !== 503 && status;
    });
    await cloud.reaches(instance, id, 'failed');
    const [failed] = await cloud.eventsOf(id);
    assert.deepEqual([failed?.data.reason, failed?.data.wire_state], ['outcome_unknown', 'unknown']);
  });
});
