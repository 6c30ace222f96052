import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Ability } from '@posthorn/core/network/abilities.ts';
import { SendDeferred, SendRefused, SendUnavailable } from '@posthorn/core/network/driver.ts';
import {
  connected,
  endOf,
  type Kept,
  newKept,
  openRecorded,
  outbound,
  type Recorded,
  sendText,
} from '../support/whatsapp/driver-harness.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import type { ContractNetwork, ContractPhone, ContractShop } from './network.ts';

const SHOP: ContractShop = {
  address: '1 Long Street',
  description: 'Books, old and new',
  email: 'shop@example.com',
  category: 'Bookshop',
  hours: { timezone: 'America/Sao_Paulo', day: 'mon', opens: '09:00', closes: '18:30' },
  products: ['p1', 'p2', 'p3'].map((id, at) => ({
    ...{ id, name: `Product ${id}`, price: 1_990 + at, currency: 'BRL' },
    imageUrl: `https://media.example/${id}.jpg`,
  })),
  collection: { id: 'c1', name: 'Best', products: ['p3'] },
};

/**
 * Runs the contract of the port, which every driver keeps, on the network that `start` starts. `lacks` are the
 * abilities that the driver declares lacking; the contract skips them. `isPosted`: the network keeps no line and pairs
 * with nobody, see `ContractNetwork.connectTo`.
 */
export function testDriver(
  name: string,
  start: () => Promise<ContractNetwork>,
  { lacks = [], isPosted = false }: { lacks?: readonly Ability[]; isPosted?: boolean } = {},
): void {
  const has = (...abilities: Ability[]) => !abilities.some((ability) => lacks.includes(ability));
  describe(`the port to a network, ${name}:`, () => {
    let network: ContractNetwork;
    let phone: ContractPhone;
    let friend: ContractPhone;
    let kept: Kept;
    let opened: Recorded[];

    before(async () => {
      network = await start();
      assert.deepEqual(
        lacks.filter((ability) => network.driver.can.has(ability)),
        [],
        'what the driver has is asked for',
      );
      friend = await network.newPhone();
    });
    after(() => network?.close());
    beforeEach(async () => {
      opened = [];
      kept = newKept();
      phone = await network.newPhone();
    });
    afterEach(() => Promise.all(opened.map(({ session }) => session.close())));

    async function open(
      ...args: Parameters<typeof openRecorded> extends [unknown, unknown, ...infer R] ? R : never
    ) {
      const recorded = await openRecorded(network.driver, kept, ...args);
      opened.push(recorded);
      return recorded;
    }

    async function pair(): Promise<Recorded> {
      await network.connectTo?.(kept, phone);
      const recorded = await open();
      if (network.connectTo) {
        await connected(recorded);
        return recorded;
      }
      await phone.pair(await until(() => recorded.qrs.at(-1), 'a QR code', 60_000));
      await connected(recorded);
      return recorded;
    }

    if (isPosted)
      it('connects with the credentials it was given, and pairs with nobody', async () => {
        const recorded = await pair();
        assert.deepEqual([recorded.qrs, recorded.identity], [[], null]);
      });
    else
      it('pairs by QR code and reports the account', async () => {
        const recorded = await pair();
        assert.deepEqual([recorded.identity?.phone, recorded.identity?.jid], [phone.number, phone.jid]);
        assert.notEqual(kept.credentials, null);
      });

    if (has('pairing_code'))
      it('pairs by the code that the user types', async () => {
        const recorded = await open();
        const code = await recorded.session.requestPairingCode(phone.number);
        assert.match(code, /^[0-9A-Z]{8}$/);
        await phone.enterCode(code);
        await connected(recorded);
        assert.equal(recorded.identity?.phone, phone.number);
      });

    it('logs in again with the kept credentials, and shows no QR code', async () => {
      const first = await pair();
      await first.session.close();
      assert.deepEqual(first.ended, ['closed']);
      const second = await open();
      await connected(second);
      assert.deepEqual([second.qrs, second.identity], [[], null]);
    });

    it('takes messages in order, under the ids that they were given', async () => {
      const recorded = await pair();
      const ids: string[] = [];
      for (let nth = 1; nth <= 10; nth += 1) ids.push(await sendText(recorded, friend.jid, `text ${nth}`));
      await waitShown(friend, phone, ids);
      const shown = await friend.shown(phone);
      assert.deepEqual(
        shown.map(({ id, text }) => [id, text]),
        ids.map((id, at) => [id, `text ${at + 1}`]),
      );
    });

    it('reports when a message was delivered and read, and by whom', async () => {
      const recorded = await pair();
      const id = await sendText(recorded, friend.jid, 'Read me');
      const has = (kind: string) => () =>
        recorded.receipts.find((receipt) => receipt.networkId === id && receipt.kind === kind);
      await until(has('delivered'), 'delivered');
      await friend.read(phone);
      const read = await until(has('read'), 'read');
      assert.deepEqual([read.chat, read.by], [friend.jid, friend.jid]);
    });

    it('hands over received messages, once and in order', async () => {
      const recorded = await pair();
      const ids = [];
      for (const text of ['one', 'two', 'three']) ids.push(await friend.text(phone, text));
      await until(() => recorded.inbound.length >= 3, 'three texts');
      assert.deepEqual(
        recorded.inbound.map(({ networkId, chat, from, type, content }) => [
          networkId,
          chat,
          from,
          type,
          content.text,
        ]),
        ids.map((id, at) => [id, friend.jid, friend.jid, 'text', ['one', 'two', 'three'][at]]),
      );
    });

    it('hands over messages that the account sends on its phone as its own, in order with received ones', async () => {
      const recorded = await pair();
      const ids = [
        await friend.text(phone, 'Are you there?'),
        await phone.text(friend, 'Yes'),
        await phone.image(friend, randomBytes(5_000), 'See'),
        await friend.text(phone, 'Thanks'),
      ];
      await until(() => recorded.inbound.length >= 4, 'all four');
      assert.deepEqual(
        recorded.inbound.map(({ networkId, chat, from, fromMe = false }) => [networkId, chat, from, fromMe]),
        ids.map((id, nth) => {
          const isOwn = nth === 1 || nth === 2;
          return [id, friend.jid, isOwn ? phone.jid : friend.jid, isOwn];
        }),
      );
    });

    it('hands over no message that the session itself sends', async () => {
      const recorded = await pair();
      const sent = await sendText(recorded, friend.jid, 'From here');
      await waitShown(friend, phone, [sent]);
      const typed = await phone.text(friend, 'From the phone');
      await until(() => recorded.inbound.length > 0, 'what was typed');
      assert.deepEqual(
        recorded.inbound.map(({ networkId }) => networkId),
        [typed],
      );
    });

    it('hands over messages that came while no session was open', async () => {
      const first = await pair();
      await first.session.close();
      const id = await friend.text(phone, 'While you were away');
      const second = await open();
      await until(() => second.inbound.some(({ networkId }) => networkId === id), 'the text');
    });

    it('hands messages over again that could not be recorded', async () => {
      const first = await pair();
      await first.session.close();
      let refusals = 2;
      const taken: string[] = [];
      const second = await open({
        sink: {
          async inbound(messages) {
            refusals -= 1;
            if (refusals >= 0) throw new Error('not now');
            taken.push(...messages.map(({ networkId }) => networkId));
          },
        },
      });
      await connected(second);
      const id = await friend.text(phone, 'Keep me');
      await until(() => taken.includes(id), 'the text is taken at the third time', 60_000);
    });

    it('marks messages as read, and the sender gets the receipt', async () => {
      const recorded = await pair();
      const id = await friend.text(phone, 'Did you see?');
      await until(() => recorded.inbound.length > 0, 'the text');
      await recorded.session.markRead(friend.jid as never, [id]);
      await untilTrue(() => friend.wasRead(phone, id), 'the friend is told');
    });

    if (!isPosted)
      it('hands over messages from before the pairing as history, and not as news', async () => {
        const said = [
          { text: 'First', fromMe: false },
          { text: 'Second', fromMe: true },
          { text: 'Third', fromMe: false },
        ];
        const ids = await phone.saidBefore(friend, said);
        const recorded = await pair();
        await until(() => recorded.history.at(-1)?.isLast, 'the whole history', 60_000);
        const messages = recorded.history.flatMap((batch) => batch.messages);
        assert.deepEqual(
          messages.map(({ networkId, chat, from, fromMe, type, content }) => [
            ...[networkId, chat, from, fromMe, type, content.text],
          ]),
          said.map(({ text, fromMe }, at) => [
            ...[ids[at], friend.jid, fromMe ? phone.jid : friend.jid, fromMe, 'text', text],
          ]),
        );
        const chats = recorded.history.flatMap((batch) => batch.chats.map(({ chat }) => chat));
        assert.deepEqual(chats, [friend.jid]);
        assert.equal(recorded.history.at(-1)?.progress, 100);
        const news = await friend.text(phone, 'News');
        await until(() => recorded.inbound.length > 0, 'the news');
        assert.deepEqual(
          recorded.inbound.map(({ networkId }) => networkId),
          [news],
        );
      });

    if (has('profile', 'profile_update'))
      it('shows the account’s profile, and changes the given fields', async () => {
        const recorded = await pair();
        const { act } = recorded.session;
        const picture = Buffer.concat([Buffer.of(0xff, 0xd8, 0xff), randomBytes(500)]);
        const wanted = { name: 'The shop', about: 'Open all day', picture: picture.toString('base64') };
        // Right after the pairing the network may refuse the question, and says so.
        await untilTrue(
          () => act('profile_update', wanted).then(() => true, isUnavailable),
          'the profile is changed',
        );
        const changed = await act('profile', {});
        assert.deepEqual([changed.name, changed.about], ['The shop', 'Open all day']);
        assert.notEqual(changed.picture_url, null);
        assert.deepEqual(await phone.profile(), { name: 'The shop', about: 'Open all day', picture });
        const without = await act('profile_update', { picture: null });
        assert.deepEqual(without, { ...changed, picture_url: null });
        assert.equal((await phone.profile()).picture, null);
      });

    if (has('business_profile', 'business_catalog', 'business_collections'))
      it('shows a business: its profile, its catalog page by page, and its collections', async () => {
        const recorded = await pair();
        const { act } = recorded.session;
        const business = await network.newPhone();
        await business.openShop(SHOP);
        const checked = await act('contacts_check', { phones: [business.number, friend.number] });
        assert.deepEqual(
          checked.map(({ jid, exists, is_business }) => [jid, exists, is_business]),
          [
            [business.jid, true, true],
            [friend.jid, true, false],
          ],
        );
        const profile = await act('business_profile', { jid: business.jid });
        assert.deepEqual(
          [profile.jid, profile.address, profile.description, profile.email],
          [business.jid, SHOP.address, SHOP.description, SHOP.email],
        );
        assert.deepEqual(
          profile.categories.map(({ name }) => name),
          [SHOP.category],
        );
        assert.deepEqual(
          [profile.business_hours_timezone, profile.business_hours],
          [
            SHOP.hours.timezone,
            [{ day_of_week: 'mon', mode: 'specific_hours', open_time: '09:00', close_time: '18:30' }],
          ],
        );
        const first = await act('business_catalog', { jid: business.jid, limit: 2 });
        const cursor = first.next_cursor!;
        const second = await act('business_catalog', { jid: business.jid, limit: 2, cursor });
        assert.equal(second.next_cursor, null);
        const shown = [...first.products, ...second.products].map(
          ({ id, name, price, currency, image_url: imageUrl }) => ({ id, name, price, currency, imageUrl }),
        );
        assert.deepEqual(shown, SHOP.products);
        const [collection, ...others] = await act('business_collections', { jid: business.jid, limit: 10 });
        assert.deepEqual(
          [collection?.id, collection?.name, collection?.products.map(({ id }) => id), others],
          ['c1', 'Best', ['p3'], []],
        );
        // A business without products shows none.
        const bare = { jid: friend.jid, limit: 2 };
        assert.deepEqual(await act('business_catalog', bare), { products: [], next_cursor: null });
        assert.deepEqual(await act('business_collections', bare), []);
        const refused = (reason: string) => (err: unknown) =>
          err instanceof SendRefused && err.reason === reason;
        await assert.rejects(act('business_profile', { jid: friend.jid }), refused('not_a_business'));
        await assert.rejects(
          act('business_catalog', { jid: business.jid, limit: 2, cursor: 'made up' }),
          refused('cursor_invalid'),
        );
      });

    if (has('reject_call'))
      it('reports a ringing call, and rejects it', async () => {
        const recorded = await pair();
        const callId = await friend.call(phone);
        const call = await until(() => recorded.facts.find(({ kind }) => kind === 'call'), 'the call');
        assert.ok(call.kind === 'call');
        assert.deepEqual([call.callId, call.from, call.group], [callId, friend.jid, null]);
        assert.equal(await friend.callState(callId), 'ringing');
        await recorded.session.act('reject_call', { call_id: callId, from: friend.jid });
        await untilTrue(async () => (await friend.callState(callId)) === 'rejected', 'it rings no more');
      });

    if (has('image'))
      it('sends an image, and downloads one', async () => {
        const recorded = await pair();
        const file = randomBytes(20_000);
        const media = {
          open: async () => Readable.from([file]),
          mimeType: 'image/png',
          fileName: 'a.png',
          sizeBytes: file.length,
          widthPx: 10,
          heightPx: 10,
        };
        const message = outbound(friend.jid, 'image', { caption: 'Mine' }, { media });
        await recorded.session.send(message);
        await waitShown(friend, phone, [message.networkId]);
        assert.ok((await friend.imageOf(phone, message.networkId)).equals(file));

        const other = randomBytes(20_000);
        await friend.image(phone, other, 'Yours');
        const received = await until(
          () => recorded.inbound.find(({ type }) => type === 'image'),
          'the image',
        );
        assert.equal(received.content.caption, 'Yours');
        assert.ok((await buffer(await recorded.session.download(received.media!))).equals(other));
      });

    it('answers every question after it was closed', async () => {
      const recorded = await pair();
      await recorded.session.close();
      const { session } = recorded;
      await assert.rejects(settledInTime(sendText(recorded, friend.jid, 'Nobody hears'), 'a send'));
      for (const [what, ask] of Object.entries({
        markRead: () => session.markRead(friend.jid, ['3EB0C0FFEE']),
        act: () => session.act('profile', {}),
        typing: () => session.typing(friend.jid),
        requestPairingCode: () => session.requestPairingCode('5511999990000'),
        logout: () => session.logout(),
        close: () => session.close(),
      }))
        await settledInTime(Promise.allSettled([ask()]), what);
    });

    if (!isPosted)
      it('ends as replaced when another login takes its place', async () => {
        const first = await pair();
        const second = await open();
        assert.equal(await endOf(first), 'replaced');
        await connected(second);
        assert.deepEqual([first.ended.length, second.ended], [1, []]);
      });

    if (isPosted)
      it('ends as refused when its credentials hold no longer', async () => {
        const recorded = await pair();
        await phone.fault('logout');
        await assert.rejects(sendText(recorded, friend.jid, 'Nobody takes this'), SendDeferred);
        assert.equal(await endOf(recorded), 'credentials_refused');
        assert.equal(await endOf(await open()), 'credentials_refused');
      });
    else
      it('ends as logged out when the phone unlinks it', async () => {
        const recorded = await pair();
        await phone.fault('logout');
        assert.equal(await endOf(recorded), 'logged_out');
        const again = await open();
        assert.equal(await endOf(again), 'logged_out');
      });

    it('ends as logged out when it logs out itself', async () => {
      const recorded = await pair();
      await recorded.session.logout();
      assert.equal(await endOf(recorded), 'logged_out');
    });

    it('ends as banned when the number is', async () => {
      const recorded = await pair();
      await phone.fault('ban');
      assert.equal(await endOf(recorded), 'banned');
    });

    if (!isPosted)
      it('ends as lost when the line is cut, and reports it once', async () => {
        const recorded = await pair();
        await phone.fault('drop');
        assert.equal(await endOf(recorded), 'connection_lost');
        await assert.rejects(sendText(recorded, friend.jid, 'Nobody hears'), SendUnavailable);
        assert.equal(recorded.ended.length, 1);
      });

    it('reports a refused message', async () => {
      const recorded = await pair();
      await phone.fault('refuse');
      await assert.rejects(sendText(recorded, friend.jid, 'No'), SendRefused);
    });

    for (const fault of ['drop_before', 'drop_after'] as const) {
      it(`reports an unknown outcome when the line is cut: ${fault}`, async () => {
        const recorded = await pair();
        await phone.fault(fault);
        const message = outbound(friend.jid, 'text', { text: 'Did it come?' });
        await assert.rejects(recorded.session.send(message), SendUnavailable);
        if (isPosted) await recorded.session.close();
        else assert.equal(await endOf(recorded), 'connection_lost');
        const again = await open();
        await connected(again);
        if (network.driver.dedupes) {
          await again.session.send(message);
          await waitShown(friend, phone, [message.networkId]);
        }
        const times = (await friend.shown(phone)).filter(({ id }) => id === message.networkId).length;
        assert.equal(times, fault === 'drop_after' || network.driver.dedupes ? 1 : 0);
        // Without dropping repeats nothing else is sent to that chat while an answer is missing.
        const { dedupes, window, order } = network.driver;
        assert.ok(dedupes || window === 1 || order === 'chat');
        if (network.driver.outcome !== 'told' || fault === 'drop_before') return;
        const heard = [recorded, again].flatMap(({ receipts }) => receipts);
        const told = await until(
          () => heard.concat(again.receipts).find(({ networkId }) => networkId === message.networkId),
          'its outcome',
        );
        assert.equal(told.kind, 'sent');
        assert.ok(told.assignedId);
      });
    }
  });
}

function isUnavailable(err: unknown): false {
  if (err instanceof SendUnavailable) return false;
  throw err;
}

/** The close of a session waits for the answers to its questions, which have to come within this time. */
const SETTLED_MS = 5_000;

async function settledInTime(asked: Promise<unknown>, what: string): Promise<void> {
  const timer = new AbortController();
  const late = delay(SETTLED_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${what} was not answered within ${SETTLED_MS} ms`);
  });
  late.catch(() => undefined);
  await Promise.race([asked, late]).finally(() => timer.abort());
}

async function untilTrue(holds: () => Promise<boolean>, what: string, timeoutMs = 60_000): Promise<void> {
  for (const end = performance.now() + timeoutMs; !(await holds()); ) {
    if (performance.now() > end) assert.fail(`Not within ${timeoutMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function waitShown(phone: ContractPhone, chat: ContractPhone, ids: readonly string[]): Promise<void> {
  const end = performance.now() + 30_000;
  for (;;) {
    const shown = new Set((await phone.shown(chat)).map(({ id }) => id));
    if (ids.every((id) => shown.has(id))) return;
    if (performance.now() > end)
      assert.fail(`${phone.number} shows ${[...shown].join(', ')} of ${ids.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
