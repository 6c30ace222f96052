import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const DELAY_MS = 1_500;

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());
afterEach(() => pipeline.sandbox.call('DELETE', '/faults'));

const call = (method: string, path: string, body?: unknown) => pipeline.call(instance, method, path, body);
const statusOf = async (group: string) => (await call('GET', `/groups/${group}`)).status;
const until = (group: string, status: number) =>
  waitFor(async () => (await statusOf(group)) === status || undefined);

/** Waits until the network has the question, whose answer is late. */
const isAsked = () =>
  waitFor(async () => {
    const { body } = await pipeline.sandbox.call('GET', '/faults');
    return (body.faults as { hits: number }[]).some(({ hits }) => hits > 0);
  });

/** A group of somebody else with the instance in it, whose next answers are late. */
async function joined() {
  const owner = pipeline.newPhone();
  const { jid: group } = await pipeline.sandbox.post(`/phones/${owner}/groups`, {
    name: 'Late',
    participants: [instance.phone],
  });
  const change = (body: object) =>
    pipeline.sandbox.post(`/phones/${owner}/groups/${encodeURIComponent(group)}`, body);
  await change({ promote: [instance.phone] });
  await until(group, 200);
  await pipeline.sandbox.post('/faults', {
    kind: 'delay_answers',
    account: instance.phone,
    delay_ms: DELAY_MS,
  });
  return { group, change };
}

describe('a late answer of the network', () => {
  for (const [what, method, pathOf, body] of [
    ['about the group', 'GET', (group: string) => `/groups/${group}?refresh=true`, undefined],
    ['about all groups', 'GET', () => '/groups?refresh=true', undefined],
    ['to a change of the group', 'PATCH', (group: string) => `/groups/${group}`, { name: 'Renamed' }],
  ] as const) {
    test(`${what} brings back no group that the instance was taken out of`, async () => {
      const { group, change } = await joined();
      const answered = call(method, pathOf(group), body);
      await isAsked();
      await change({ remove: [instance.phone] });
      await until(group, 404);
      assert.equal((await answered).status, 200);
      assert.equal(await statusOf(group), 404);
    });
  }

  test('to leaving a group keeps it where the instance was added again meanwhile', async () => {
    const { group, change } = await joined();
    const left = call('POST', `/groups/${group}/leave`);
    await until(group, 404);
    await change({ add: [instance.phone] });
    await until(group, 200);
    assert.equal((await left).status, 200);
    assert.equal(await statusOf(group), 200);
  });
});
