import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Message } from '@posthorn/sdk/index.ts';
import { foldReactions } from '../../console/pages/chats/fold-reactions.ts';

const TEXT = {
  message_id: 'text',
  network_id: 'AB12',
  message_type: 'text',
  content: { text: 'Hi' },
} as unknown as Message;

function reaction(emoji: string, more: Partial<Message> = {}): Message {
  const content = { message_id: TEXT.message_id, emoji };
  return { message_type: 'reaction', from_jid: null, status: 'read', content, ...more } as unknown as Message;
}

/** The reactions to a text, of which the newest comes first. */
const shownOf = (...newestFirst: Message[]) => foldReactions([...newestFirst, TEXT]).reactionsOf(TEXT);

test('a message has the last reaction of each person', () => {
  const theirs = reaction('🙏', { from_jid: '5511987650001@s.whatsapp.net', status: 'received' });
  assert.equal(shownOf(reaction('😂'), theirs, reaction('👍')), '😂 🙏');
  assert.equal(shownOf(reaction(''), reaction('👍')), '');
  assert.deepEqual(foldReactions([theirs, TEXT]).shown, [TEXT]);
});

test('a reaction that failed is on no phone, and the one before it stays', () => {
  assert.equal(shownOf(reaction('😂', { status: 'failed' }), reaction('👍')), '👍');
  assert.deepEqual(foldReactions([reaction('😂', { status: 'failed' }), TEXT]).shown, [TEXT]);
});
