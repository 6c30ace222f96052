import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  mayHaveOtherNumber,
  mayHaveOtherNumberSql,
  otherNumberOf,
} from '@posthorn/core/lids/other-numbers.ts';
import { saveLids } from '@posthorn/core/lids/record-lids.ts';
import { underKnownAddresses } from '@posthorn/core/sending/known-addresses.ts';
import type { SendCommand } from '@posthorn/core/sending/send-command.ts';
import { waitFor } from '../support/process.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

const jidOf = (phone: string) => `${phone}@s.whatsapp.net`;

/** Both numbers of one account; null: a number that has no other. */
const PAIRS: [string, string | null][] = [
  ['5584988887777', '558488887777'],
  ['5531912345678', '553112345678'],
  ['5215512345678', '525512345678'],
  ['5491112345678', '541112345678'],
  ['5511987654321', null],
  ['5528987654321', null],
  ['14155550100', null],
  ['4915112345678', null],
  ['55', null],
];

describe('numbers whose account may have another one', () => {
  let pipeline: Sending;
  let instance: TestInstance;
  before(async () => {
    pipeline = await startSending();
    instance = await pipeline.connect();
  });
  after(() => pipeline?.close());

  const learn = (lid: string, phone: string) =>
    saveLids(
      pipeline.api.parts.db,
      { companyId: pipeline.company.companyId, instanceId: instance.id },
      [{ lid: jidOf(lid), phone }],
      new Date(),
    );
  const shown = async (id: string) => {
    const { body } = await pipeline.call(instance, 'GET', '/messages');
    return body.data.find((message: { message_id: string }) => message.message_id === id);
  };
  const chatOf = async (to: string) => {
    const { message_id: id } = await pipeline.send(instance, '/messages/text', {
      to,
      text: `to ${to} at ${Date.now()}`,
    });
    return (await shown(id)).chat_jid;
  };

  it('are those of three countries, each with its other form', () => {
    for (const [long, short] of PAIRS) {
      assert.equal(otherNumberOf(jidOf(long)), short ? jidOf(short) : undefined, long);
      if (short) assert.equal(otherNumberOf(jidOf(short)), jidOf(long), short);
    }
  });

  it('are the same for the database', async () => {
    const jids = PAIRS.flat().flatMap((phone) =>
      phone ? [jidOf(phone), `${phone}@lid`, `${phone}-1@g.us`] : [],
    );
    const { rows } = await pipeline.api.parts.db.query<{ jid: string; may: boolean }>(
      `SELECT jid, ${mayHaveOtherNumberSql('jid')} AS may FROM unnest($1::text[]) AS jid`,
      [jids],
    );
    assert.equal(rows.length, jids.length);
    for (const { jid, may } of rows) assert.equal(may, mayHaveOtherNumber(jid), jid);
  });

  it('lead to the account that was learnt last, and an account to itself', async () => {
    const [written, account] = ['5584900000001', '558400000001'];
    await learn(written, account);
    assert.equal(await chatOf(written), jidOf(account));
    await learn(account, written);
    assert.equal(
      await chatOf(account),
      jidOf(written),
      'they registered again, with the number that everybody writes',
    );
    assert.equal(await chatOf(written), jidOf(written));
  });

  it('are one chat for repeated content, whichever of them each send is to', async () => {
    const [written, account] = ['5584900000004', '558400000004'];
    await pipeline.call(instance, 'PATCH', '/settings', { anti_spam_guard_enabled: true });
    const body = { to: written, text: 'the same words' };
    await pipeline.send(instance, '/messages/text', body);
    await learn(written, account);
    for (const to of [written, account]) {
      const again = await pipeline.call(instance, 'POST', '/messages/text', { ...body, to });
      assert.equal(again.body.error_code, 'BLOCKED_DUPLICATE_CONTENT', again.text);
    }
    await pipeline.call(instance, 'PATCH', '/settings', { anti_spam_guard_enabled: false });
  });

  it('are no matter of anonymous ids: the digits of one without a known phone are those of nobody', async () => {
    const { instanceId, chatJid } = { instanceId: instance.id, chatJid: '5584900000009@lid' };
    await learn('558400000009', '5584900000009');
    const send = { instanceId, message: { chatJid } } as SendCommand;
    const [known] = await underKnownAddresses(pipeline.api.parts.db, [send]);
    assert.deepEqual([known?.message?.chatJid, known?.otherAddresses], [chatJid, []]);
  });

  it('are one contact for the count of sends without an answer', async () => {
    const [written, account] = ['5584900000006', '558400000006'];
    const guard = { anti_spam_guard_enabled: true, anti_spam_temperature_enabled: false };
    await pipeline.call(instance, 'PATCH', '/settings', guard);
    const say = (to: string, text: string) => pipeline.call(instance, 'POST', '/messages/text', { to, text });
    for (const text of ['one', 'two', 'three']) assert.equal((await say(account, text)).status, 202);
    assert.equal((await say(account, 'four')).body.error_code, 'BLOCKED_NO_RECIPROCITY');
    assert.equal((await say(written, 'four')).status, 202, 'nobody knows yet whose number it is');
    await learn(written, account);
    for (const to of [written, account]) {
      const refused = await say(to, 'five');
      assert.deepEqual([refused.body.error_code, refused.body.count], ['BLOCKED_NO_RECIPROCITY', 4]);
    }
    await pipeline.call(instance, 'PATCH', '/settings', {
      anti_spam_guard_enabled: false,
      anti_spam_temperature_enabled: true,
    });
  });

  it('leave a contact as warm as it was', async () => {
    const [written, account] = ['5584900000007', '558400000007'];
    const { db } = pipeline.api.parts;
    await db.query(
      `INSERT INTO chat_guards (instance_id, chat_jid, company_id, outbound_consecutive, score, score_at)
       VALUES ($1, $2, $3, 0, 90, now())`,
      [instance.id, jidOf(account), pipeline.company.companyId],
    );
    await chatOf(written);
    await learn(written, account);
    const { rows } = await db.query<{ score: number; outbound_consecutive: number }>(
      'SELECT score, outbound_consecutive FROM chat_guards WHERE instance_id = $1 AND chat_jid = $2',
      [instance.id, jidOf(account)],
    );
    assert.ok(rows[0]!.score > 89, `${rows[0]!.score}`);
    assert.equal(rows[0]!.outbound_consecutive, 1);
  });

  it('are one chat for a scheduled send that fails', async () => {
    const [written, account] = ['5584900000005', '558400000005'];
    await learn(written, account);
    const { body, text } = await pipeline.call(instance, 'POST', '/messages/scheduled', {
      type: 'text',
      send_at: new Date(Date.now() + 1_000).toISOString(),
      body: { to: written, text: 'later' },
    });
    await pipeline.call(instance, 'PATCH', '/settings', { passive_mode_enabled: true });
    const failed = await waitFor(
      async () => {
        const { rows } = await pipeline.api.parts.db.query<{ data: { chat: string; phone: string } }>(
          `SELECT data FROM events WHERE type = 'text.delivery_failed' AND data->'message_ids'->>0 = $1`,
          [body.id],
        );
        return rows[0]?.data;
      },
      20_000,
      { what: `the failure of ${text}` },
    );
    assert.deepEqual([failed.chat, failed.phone], [jidOf(account), account]);
    await pipeline.call(instance, 'PATCH', '/settings', { passive_mode_enabled: false });
  });

  it('lead nowhere else once somebody writes from them', async () => {
    const [written, account] = ['5584900000003', '558400000003'];
    await learn(written, account);
    await pipeline.sandbox.post(`/phones/${written}/messages`, {
      to: instance.phone,
      type: 'text',
      text: 'hi',
    });
    const received = await waitFor(async () => {
      const { rows } = await pipeline.api.parts.db.query<{ data: { chat: string; phone: string } }>(
        `SELECT data FROM events WHERE type = 'message.received' AND instance_id = $1`,
        [instance.id],
      );
      return rows[0]?.data;
    });
    assert.deepEqual([received.chat, received.phone], [jidOf(written), written]);
    assert.equal(await chatOf(written), jidOf(written));
  });

  it('lead nowhere else once the network finds no account there', async () => {
    const [written, account] = ['5584900000002', '558400000002'];
    await learn(written, account);
    await pipeline.sandbox.post('/faults', { kind: 'refuse', phone: account, reason: 'recipient_not_found' });
    const { message_id: id } = await pipeline.send(instance, '/messages/text', { to: written, text: 'gone' });
    await waitFor(async () => (await shown(id)).status === 'failed');
    assert.equal(await chatOf(written), jidOf(written));
  });
});
