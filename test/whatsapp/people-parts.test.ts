import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { phoneOf } from '@posthorn/contract/jid.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { MappingCache } from '@posthorn/network/whatsapp/mapping-cache.ts';
import { addressOf } from '@posthorn/network/whatsapp/recipients.ts';
import type { WhatsAppContext } from '@posthorn/network/whatsapp/session-context.ts';
import { accountsQuestion, readAccounts } from '@posthorn/network/whatsapp/wire/accounts.ts';
import { child, children, node, type Stanza, textOf } from '../support/whatsapp/nodes.ts';

describe('which numbers have an account', () => {
  it('is asked with all of them at once, and with the certified names of businesses', () => {
    const question = accountsQuestion(['5511987654321', '15550001111'], 'abc', 'businesses') as Stanza;
    const usync = child(question, 'usync')!;
    assert.equal(usync.attrs.sid, 'abc');
    const users = children(child(usync, 'list'), 'user');
    assert.deepEqual(
      users.map((user) => textOf(child(user, 'contact'))),
      ['+5511987654321', '+15550001111'],
    );
    const asked = children(child(usync, 'query'));
    assert.deepEqual(
      asked.map(({ tag }) => tag),
      ['business', 'contact'],
    );
  });

  it('is answered by what was asked, though the account may be written otherwise', () => {
    const lid = '9876@lid';
    const user = (jid: string, contact: Stanza, ...more: Stanza[]) =>
      node('user', { jid }, [contact, ...more]);
    const answer = node('iq', { type: 'result' }, [
      node('usync', {}, [
        node('list', {}, [
          user(
            '551187654321@s.whatsapp.net',
            node('contact', { type: 'in' }, Buffer.from('+5511987654321')),
            node('lid', { val: lid }),
          ),
          user(
            '15550001111@s.whatsapp.net',
            node('contact', { type: 'in' }, '+15550001111'),
            node('business', {}, [node('verified_name', { v: '1' }, Buffer.of(1))]),
          ),
          user('15550002222@s.whatsapp.net', node('contact', { type: 'out' }), node('business')),
          node('user', { jid: '15550003333@s.whatsapp.net' }),
        ]),
      ]),
    ]);
    assert.deepEqual(readAccounts(answer), [
      { asked: '5511987654321', jid: '551187654321@s.whatsapp.net', exists: true, isBusiness: false, lid },
      {
        asked: '15550001111',
        jid: '15550001111@s.whatsapp.net',
        exists: true,
        isBusiness: true,
        lid: undefined,
      },
      { asked: '', jid: '15550002222@s.whatsapp.net', exists: false, isBusiness: false, lid: undefined },
    ]);
  });

  it('is not known when the network does not answer', () => {
    assert.throws(() => readAccounts(undefined), /did not answer/);
    assert.throws(() => readAccounts(node('iq', { type: 'result' })), /did not answer/);
  });
});

describe('the account that a number leads to', () => {
  const [written, former] = ['5584988887777@s.whatsapp.net', '558488887777@s.whatsapp.net'] as const;

  function sessionOf(accounts: Map<string, string>, hear: () => Promise<void> = async () => undefined) {
    const asked: string[] = [];
    const query = async (question: Stanza) => {
      const list = child(child(question, 'usync'), 'list')!;
      const contact = child(child(list, 'user'), 'contact')!;
      const number = textOf(contact);
      asked.push(number);
      const type = accounts.has(number) ? 'in' : 'out';
      const user = node('user', { jid: accounts.get(number) ?? number }, [node('contact', { type })]);
      return node('iq', { type: 'result' }, [node('usync', {}, [node('list', {}, [user])])]);
    };
    const session = {
      ...{ phase: 'live', creds: {}, accounts: new MappingCache(), deps: { clock: systemClock } },
      connection: { socket: { query } },
      intake: { hold: () => () => undefined },
      arrivals: { run: hear },
    } as unknown as WhatsAppContext;
    return { session, asked };
  }

  it('is asked for again once the network has none at its number', async () => {
    const accounts = new Map([[`+${phoneOf(written)}`, former as string]]);
    const { session } = sessionOf(accounts);
    assert.equal(await addressOf(session, written), former);
    accounts.set(`+${phoneOf(written)}`, written);
    await assert.rejects(addressOf(session, former), { reason: 'recipient_not_found' });
    assert.equal(await addressOf(session, written), written);
  });

  it('is asked for, and told, again when it could not be recorded', async () => {
    let isAway = true;
    let heard = 0;
    const { session, asked } = sessionOf(new Map([[`+${phoneOf(written)}`, former]]), async () => {
      if (isAway) throw new Error('the database is away');
      heard += 1;
    });
    await addressOf(session, written);
    await setImmediate();
    isAway = false;
    await addressOf(session, written);
    await addressOf(session, written);
    assert.deepEqual([asked.length, heard], [2, 1]);
  });
});

describe('the phones behind anonymous ids', () => {
  it('are held with what was asked for last, up to a bound', () => {
    const cache = new MappingCache();
    for (let nth = 0; nth < 10_000; nth += 1) cache.set(`lid:${nth}`, `${nth}`);
    assert.equal(cache.get('lid:0'), '0');
    cache.set('lid:new', 'new');
    assert.deepEqual([cache.get('lid:0'), cache.get('lid:1'), cache.get('lid:new')], ['0', undefined, 'new']);
    cache.clear();
    assert.equal(cache.get('lid:0'), undefined);
  });
});
