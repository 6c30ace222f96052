import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { backOffMs, verdictOf } from '@posthorn/network/whatsapp-cloud/verdicts.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { tellFigure } from '../support/figures.ts';
import { waitFor } from '../support/process.ts';

const ALICE = '5531900000010';
const BOB = '5531900000011';

/** By code: the effect on the message that it answers, and on the account, as the user sees it. */
const CODES: Readonly<Record<string, readonly number[]>> = {
  undeliverable: [131026],
  recipient_is_sender: [131021],
  recipient_not_allowed: [131030],
  recipient_without_phone: [131062],
  window_closed: [131047],
  media_download_failed: [131052],
  media_upload_failed: [131053],
  invalid_message: [100, 131008, 131009],
  unsupported_message: [131051],
  marketing_limited: [131049],
  recipient_in_experiment: [130472],
  recipient_opted_out: [131050],
  country_barred: [130497],
  payment_required: [131042],
  account_restricted: [368, 131031],
  template_wrong: [132000, 132005, 132007, 132008, 132012, 132018],
  template_not_found: [132001],
  template_paused: [132015],
  template_disabled: [132016],
  flow_blocked: [132068],
  flow_throttled: [132069],
  refused_by_network: [999_999],
};
const DEFERRED = [
  4, 17, 341, 80007, 80008, 130429, 131056, 1, 2, 131000, 131016, 131057, 133015, 131048, 131064,
];
const ENDING = [0, 102, 190, 3, 10, 33, 200, 299, 131005, 131045, 133005, 133006, 133009, 133010, 133016];

describe('limits and errors of the Cloud API', () => {
  let cloud: CloudSending;
  let instance: CloudInstance;
  before(async () => {
    cloud = await startCloudSending({ worker: { deferral: { expiresMs: 600_000, retryMs: 100 } } });
    instance = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(instance, ALICE);
    await cloud.greet(instance, BOB);
  });
  after(() => cloud?.close());

  const text = (to: string, words: string, on = instance) =>
    cloud.send(on, '/messages/text', { to, text: words });
  const namesOf = (to: string) =>
    cloud.graph.world.ledger.filter((each) => each.to === to).map(({ callbackData }) => callbackData);
  const nameOf = (id: string) => id.replaceAll('-', '').toUpperCase();

  it('fail a message by the code that refuses it, at once or with a later status', async () => {
    for (const [reason, codes] of Object.entries(CODES)) {
      for (const code of codes) {
        assert.deepEqual([code, verdictOf(code).reason, verdictOf(code).does], [code, reason, 'refuse']);
        cloud.graph.fault({ kind: code % 2 ? 'error' : 'fail', code }, { person: ALICE });
        const id = await text(ALICE, `Code ${code}`);
        await cloud.reaches(instance, id, 'failed');
        assert.equal((await cloud.status(instance, id)).failed_reason, reason);
      }
    }
    const { restriction } = (await cloud.call(instance.id, 'GET', '')).body;
    assert.ok(['payment_required', 'account_restricted'].includes(restriction), restriction);
  });

  it('end the session with words, keep the credentials and lose no message, by the codes of tokens and permissions', async () => {
    for (const code of ENDING) assert.deepEqual([code, verdictOf(code).does], [code, 'end']);
    assert.deepEqual([verdictOf(100, 33).does, verdictOf(100, 2_388_093).does], ['end', 'refuse']);
    const other = await cloud.connect({ humanize_enabled: false });
    await cloud.greet(other, ALICE);
    cloud.graph.fault({ kind: 'error', code: 10 }, { person: ALICE });
    const id = await text(ALICE, 'Waits for a permission', other);
    const down = await cloud.state(other.id, 'DISCONNECTED');
    assert.match(down.last_error, /lacks a permission/);
    await cloud.call(other.id, 'POST', '/connect');
    await cloud.reaches(other, id, 'delivered');
  });

  it('wait by the code: of the person by powers of four, of the number by powers of two, at most five minutes', () => {
    const waits = (code: number) => [0, 1, 2, 9].map((failures) => backOffMs(verdictOf(code), failures));
    assert.deepEqual(waits(131056), [4_000, 16_000, 64_000, 300_000]);
    assert.deepEqual(waits(130429), [1_000, 2_000, 4_000, 300_000]);
    assert.deepEqual(waits(131000), [5_000, 5_000, 5_000, 5_000]);
    for (const code of DEFERRED) assert.match(verdictOf(code).does, /^defer/);
  });

  it('hold a chat at the pair limit in its order, and delay no other', async () => {
    // The chat waits for 4 s and then for 16 s: a busy machine takes long for the messages beside it.
    cloud.graph.fault({ kind: 'error', code: 131056 }, { person: ALICE, times: 2 });
    const held: string[] = [];
    for (let nth = 0; nth < 5; nth += 1) held.push(await text(ALICE, `Held ${nth}`));
    const startedAt = performance.now();
    let beside = 0;
    for (let nth = 0; nth < 20; nth += 1) {
      await cloud.reaches(instance, await text(BOB, `Free ${nth}`), 'delivered');
      if (held.every((id) => !namesOf(ALICE).includes(nameOf(id)))) beside += 1;
    }
    assert.ok(beside >= 5, `${beside} of 20 went while nothing went to the chat`);
    tellFigure('20 messages beside a chat at the pair limit', performance.now() - startedAt, {
      atMost: 4_000,
    });
    await cloud.reaches(instance, held.at(-1)!, 'delivered');
    assert.deepEqual(namesOf(ALICE).slice(-5), held.map(nameOf));
  });

  it('hold the whole number at its own limit, and lose nothing', async () => {
    cloud.graph.fault({ kind: 'error', code: 130429 }, { times: 2 });
    const ids = [await text(ALICE, 'Limited'), await text(BOB, 'Limited'), await text(ALICE, 'Too')];
    for (const id of ids) await cloud.reaches(instance, id, 'delivered');
    assert.deepEqual(namesOf(ALICE).slice(-2), [ids[0]!, ids[2]!].map(nameOf));
  });

  it('wait once for a limit that many sends meet at the same moment, and no longer each time', async () => {
    const other = await cloud.connect({ humanize_enabled: false });
    const people = Array.from({ length: 30 }, (_, nth) => `55319004${String(nth).padStart(5, '0')}`);
    for (const person of people) await cloud.greet(other, person);
    cloud.graph.world.answerDelayMs = 300;
    other.number.perSecond = 10;
    const startedAt = performance.now();
    const ids = await Promise.all(people.map((person) => text(person, 'At once', other)));
    for (const id of ids) await cloud.reaches(other, id, 'delivered');
    cloud.graph.world.answerDelayMs = 0;
    tellFigure('30 messages at a limit of 10 a second', performance.now() - startedAt, { atMost: 8_000 });
  });

  it('send to many chats side by side, in order within each', async () => {
    const people = Array.from({ length: 20 }, (_, nth) => `55319001${String(nth).padStart(5, '0')}`);
    for (const person of people) await cloud.greet(instance, person);
    const expected = new Map(people.map((person) => [person, [] as string[]]));
    const startedAt = performance.now();
    for (let nth = 0; nth < 10; nth += 1)
      await Promise.all(
        people.map(async (person) => void expected.get(person)!.push(nameOf(await text(person, `${nth}`)))),
      );
    const count = people.length * 10;
    await waitFor(async () => people.every((person) => namesOf(person).length === 10));
    tellFigure(
      `${count} messages to ${people.length} chats`,
      (count * 1_000) / (performance.now() - startedAt),
      { atLeast: 80 },
      'a second',
    );
    for (const [person, ids] of expected) assert.deepEqual(namesOf(person), ids);
  });
});

describe('a restriction of the account', () => {
  it('that an earlier worker reported is lifted by the next delivery, but low quality only by its own news', async (t) => {
    const cloud = await startCloudSending();
    t.after(() => cloud.close());
    const [unpaid, flagged] = [await cloud.connect(), await cloud.connect()];
    const restrictionOf = async ({ id }: CloudInstance) => (await cloud.call(id, 'GET', '')).body.restriction;
    for (const one of [unpaid, flagged]) await cloud.greet(one, ALICE);
    const words = { to: ALICE, text: 'Hello' };
    cloud.graph.fault({ kind: 'fail', code: 131042 });
    await cloud.send(unpaid, '/messages/text', words);
    await waitFor(async () => (await restrictionOf(unpaid)) === 'payment_required');
    cloud.graph.post(flagged.number, 'phone_number_quality_update', { event: 'FLAGGED' });
    await waitFor(async () => (await restrictionOf(flagged)) === 'quality_low');

    await cloud.worker.stop();
    await cloud.startWorker();
    for (const one of [unpaid, flagged])
      await cloud.reaches(one, await cloud.send(one, '/messages/text', words), 'delivered');
    await waitFor(async () => (await restrictionOf(unpaid)) === null);
    assert.equal(await restrictionOf(flagged), 'quality_low');
    assert.equal((await cloud.give(flagged.id, flagged.number)).body.restriction, 'quality_low');
    cloud.graph.post(flagged.number, 'phone_number_quality_update', { event: 'UNFLAGGED' });
    await waitFor(async () => (await restrictionOf(flagged)) === null);
  });

  it('does not go over to another number', async (t) => {
    const cloud = await startCloudSending();
    t.after(() => cloud.close());
    const flagged = await cloud.connect();
    cloud.graph.post(flagged.number, 'phone_number_quality_update', { event: 'FLAGGED' });
    await waitFor(async () => (await cloud.call(flagged.id, 'GET', '')).body.restriction === 'quality_low');
    const next = cloud.graph.addNumber({ phone: '5511900000077' });
    assert.equal((await cloud.give(flagged.id, next)).body.restriction, null);
    await waitFor(async () => next.webhook !== null);
    assert.equal((await cloud.call(flagged.id, 'GET', '')).body.restriction, null);
  });
});
