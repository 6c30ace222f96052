import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { messagingContract } from '@posthorn/contract/messaging/index.ts';
import type { Message } from '@posthorn/contract/messaging/message.ts';
import { waitFor } from '../support/process.ts';
import { sized } from '../support/size.ts';
import { type Field, writeFields } from '../support/whatsapp/fields.ts';
import { randomOf } from '../support/whatsapp/hostile-frames.ts';
import { raw, type WireMessage } from '../support/whatsapp/nodes.ts';
import { type Call, pairAll, useWhatsAppSystem } from '../support/whatsapp/paired-system.ts';
import { randomMessage, schemaOf } from '../support/whatsapp/random-messages.ts';

const SEED = Number(process.env.POSTHORN_SEED ?? Date.now() % 2 ** 32);
const ROUNDS = sized(20, 60, 600);
const MESSAGES = 20;
/** Pictures that are gone, of a sender who does not answer the request to upload them again. */
const GONE = 12;
/** Messages behind so many hostile ones may have to wait for them, because each is requested five times. */
const ARRIVES_MS = 30_000;

const library = createRequire(new URL('../../network/whatsapp/library/', import.meta.url));
const schema = schemaOf(readFileSync(library.resolve('@whiskeysockets/baileys/WAProto/index.js'), 'utf8'));

test(`${ROUNDS * MESSAGES} messages of random fields from a stranger and from the own phone: what a friend writes behind them arrives, once and in order, and all of it can be read (seed ${SEED})`, async (t) => {
  const { network, system, call } = await useWhatsAppSystem(t);
  const pids = system.workers.map((worker) => worker.pid());
  const [own, stranger, friend] = ['5511977770000', '5511977770001', '5511977770002'].map((number) =>
    network.phone(number),
  );
  const { id } = (await pairAll(call, [own!]))[0]!;
  const group = network.group(own!, 'All of us', [stranger!, friend!]).jid;
  const random = randomOf(SEED);
  const ids: string[] = ['A'];
  const jids = [own!.jid, own!.lid, stranger!.jid, friend!.jid, group, 'status@broadcast'];
  const written: string[] = [];
  const named = (type: string, fields: Buffer) =>
    Buffer.concat([randomMessage(schema, random, { ids, jids }, type), fields]);
  /** One chat with one message, random except for their names; of a repeated field the last one counts. */
  const randomHistory = () => {
    const chat = jids[Math.floor(random() * jids.length)]!;
    const key: Field[] = [
      [1, chat],
      [3, `H${ids.length}`],
    ];
    const message = named('WebMessageInfo', writeFields([[1, writeFields(key)]]));
    const conversation: Field[] = [
      [1, chat],
      [2, writeFields([[1, message]])],
    ];
    // The number of `RECENT`.
    return writeFields([
      [1, 3],
      [2, named('Conversation', writeFields(conversation))],
    ]);
  };
  const sleeper = network.phone('5511977770003');
  sleeper.goOffline();
  for (let count = 0; count < GONE; count += 1) sleeper.send(own!, goneMedia(), { type: 'media' });
  for (let round = 0; round < ROUNDS; round += 1) {
    for (let count = 0; count < MESSAGES; count += 1) {
      const message = raw(randomMessage(schema, random, { ids, jids }));
      const [from, chat] = [
        [stranger!, own!] as const,
        [stranger!, group] as const,
        [stranger!, 'status@broadcast'] as const,
        [own!, own!] as const,
      ][count % 4]!;
      ids.push(from.send(chat, message, { audience: [own!], type: count % 3 === 0 ? 'media' : 'text' }));
    }
    for (let count = 0; count < 3; count += 1) own!.send(own!, historyOf(randomHistory()));
    const last = friend!.text(round % 2 === 0 ? own! : group, `behind round ${round}`);
    written.push(last);
    await waitFor(async () => (await call('GET', `/${id}/message/${last}`)).status === 200, ARRIVES_MS, {
      what: `the text behind round ${round}`,
    });
  }
  assert.deepEqual(
    system.workers.map((worker) => worker.pid()),
    pids,
  );
  const found = await everyMessage(call, id);
  const texts = found.filter(({ network_id: each }) => written.includes(each ?? '')).toReversed();
  assert.deepEqual(
    texts.map(({ network_id: each }) => each),
    written,
  );
  assert.equal((await call('GET', `/${id}`)).body.state, 'CONNECTED');
  t.diagnostic(`${found.length} messages were stored of ${ids.length - 1 + written.length}`);
});

function goneMedia(): WireMessage {
  const hash = () => randomBytes(32);
  const [mediaKey, fileSha256, fileEncSha256] = [hash(), hash(), hash()];
  const directPath = `/v/${mediaKey.toString('hex')}`;
  return {
    imageMessage: {
      directPath,
      mediaKey,
      fileSha256,
      fileEncSha256,
      fileLength: 1_000,
      mimetype: 'image/png',
    },
  };
}

/** The message with which a phone sends a history to its own devices. */
function historyOf(history: Buffer): WireMessage {
  const historySyncNotification = {
    ...{ syncType: 'RECENT', chunkOrder: 2, progress: 50 },
    initialHistBootstrapInlinePayload: deflateSync(history),
  };
  return { protocolMessage: { type: 'HISTORY_SYNC_NOTIFICATION', historySyncNotification } };
}

/** All messages of an instance, newest first, each checked against the contract. */
async function everyMessage(call: Call, id: string) {
  const messages: Message[] = [];
  for (let before: string | null | undefined; before !== null; ) {
    const { status, body } = await call(
      'GET',
      `/${id}/messages?limit=200${before ? `&before=${before}` : ''}`,
    );
    assert.equal(status, 200, JSON.stringify(body));
    const page = messagingContract.messages.list.responses[200].parse(body);
    messages.push(...page.data);
    before = page.next_cursor;
  }
  return messages;
}
