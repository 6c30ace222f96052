import assert from 'node:assert/strict';
import { beforeEach, describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { LibraryMessage } from '@posthorn/network/whatsapp/library-types.ts';
import { createMessageLines, type MessageLines } from '@posthorn/network/whatsapp/message-lines.ts';
import { createPump, type Pump } from '@posthorn/network/whatsapp/pump.ts';

const ANN = '551100000001@s.whatsapp.net';
const BOB = '551100000002@s.whatsapp.net';

/** A message whose text or caption is its id. */
function message(chat: string, id: string, isMedia = false): LibraryMessage {
  const key = { remoteJid: chat, id } as LibraryMessage['key'];
  return { key, message: isMedia ? { imageMessage: { caption: id } } : { conversation: id } };
}

describe('in the lines of received messages,', () => {
  let main: Pump;
  let lines: MessageLines;
  let recorded: string[];
  /** Ids of messages that cannot be recorded yet. */
  let held: Map<string, PromiseWithResolvers<void>>;
  let failures: unknown[];
  beforeEach(() => {
    recorded = [];
    failures = [];
    held = new Map();
    main = createPump((err) => failures.push(err));
    lines = createMessageLines(
      main,
      async (messages) => {
        for (const { key } of messages) await held.get(key.id!)?.promise;
        recorded.push(...messages.map(({ key }) => key.id!));
      },
      (err) => failures.push(err),
    );
  });

  const hold = (id: string) => held.set(id, Promise.withResolvers()).get(id)!;
  const settled = async () => {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  };

  it('a message that waits for its media delays only its own chat', async () => {
    const { resolve } = hold('picture');
    const all = [
      lines.take(message(ANN, 'picture', true)),
      lines.take(message(ANN, 'behind it')),
      lines.take(message(BOB, 'of another')),
      lines.take(message(BOB, 'another picture', true)),
      lines.take(message(ANN, 'last')),
    ];
    await settled();
    assert.deepEqual(recorded, ['of another', 'another picture']);
    resolve();
    await Promise.all(all);
    assert.deepEqual(recorded, ['of another', 'another picture', 'picture', 'behind it', 'last']);
  });

  it('media does not overtake what came before it in its chat', async () => {
    const { resolve } = hold('first');
    const all = [lines.take(message(ANN, 'first')), lines.take(message(ANN, 'picture', true))];
    await settled();
    assert.deepEqual(recorded, []);
    resolve();
    await Promise.all(all);
    assert.deepEqual(recorded, ['first', 'picture']);
  });

  it('a chat is the same by either of its addresses', async () => {
    const { resolve } = hold('picture');
    const byLid = message('100000000000001@lid', 'by the other address');
    byLid.key.remoteJidAlt = ANN;
    const all = [lines.take(message(ANN, 'picture', true)), lines.take(byLid)];
    await settled();
    assert.deepEqual(recorded, []);
    resolve();
    await Promise.all(all);
    assert.deepEqual(recorded, ['picture', 'by the other address']);
  });

  it('a status comes before the replies to it, which are in other chats', async () => {
    const { resolve } = hold('status');
    const all = [lines.take(message('status@broadcast', 'status', true)), lines.take(message(ANN, 'reply'))];
    await settled();
    assert.deepEqual(recorded, []);
    resolve();
    await Promise.all(all);
    assert.deepEqual(recorded, ['status', 'reply']);
  });

  it('a message that is not recorded when the session ends is refused, and the rest is recorded', async () => {
    const { resolve } = hold('picture');
    const first = lines.take(message(ANN, 'picture', true));
    await settled();
    const refused = assert.rejects(lines.take(message(ANN, 'behind it')));
    const stopped = Promise.all([main.stop(), lines.stop()]);
    await assert.rejects(lines.take(message(BOB, 'too late', true)));
    resolve();
    await Promise.all([first, refused, stopped]);
    assert.deepEqual(recorded, ['picture']);
    assert.deepEqual(failures, []);
  });
});
