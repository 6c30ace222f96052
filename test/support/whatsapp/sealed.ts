import { randomBytes } from 'node:crypto';
import { hkdf, sealGcm, sha256 } from './keys.ts';
import type { WireMessage } from './nodes.ts';
import type { Phone } from './phone.ts';
import { jidIn, type World } from './world.ts';

/** The message that a phone seals something about. `author` and `sender` are the names by which the chat knows them. */
interface About {
  id: string;
  secret: Buffer;
  author: string;
  sender: string;
}

/** New words for the message, a reaction to it, a comment on it, or a vote in it. */
export type Said =
  | { words: WireMessage }
  | { reaction: string }
  | { comment: WireMessage }
  | { options: readonly string[] };

export function sealed(world: World, about: About, said: Said): WireMessage {
  if ('words' in said) return sealedEdit(world, about, said.words);
  if ('reaction' in said) return sealedReaction(world, about, said.reaction);
  if ('comment' in said) return sealedComment(world, about, said.comment);
  return sealedVote(world, about, said.options);
}

/** The secret of a message that a phone has sent. Throws when it has none. */
export function secretOf(phone: Phone, id: string): Buffer {
  const about = phone.sent.get(id)?.message.messageContextInfo as { messageSecret?: Buffer } | undefined;
  if (!about?.messageSecret) throw new Error(`${phone.number} has sent ${id} without a secret`);
  return about.messageSecret;
}

/** New words for a message, as newer apps send them. */
function sealedEdit(world: World, about: About, words: WireMessage): WireMessage {
  const key = { remoteJid: about.author, fromMe: true, id: about.id };
  const protocolMessage = { type: 'MESSAGE_EDIT', key, editedMessage: words, timestampMs: Date.now() };
  const plain = world.coding.encodeMessage({ protocolMessage });
  const sealed = seal(about, 'Message Edit', plain, Buffer.alloc(0));
  return { secretEncryptedMessage: { targetMessageKey: key, secretEncType: 'MESSAGE_EDIT', ...sealed } };
}

/** A reaction, as it is sent in the announcement group of a community. */
function sealedReaction(world: World, about: About, text: string): WireMessage {
  const coder = (world.coding.proto.Message as unknown as World['coding']['proto']).ReactionMessage!;
  const plain = coder.encode(coder.fromObject({ text, senderTimestampMs: Date.now() })).finish();
  const targetMessageKey = { participant: about.author, fromMe: false, id: about.id };
  return {
    encReactionMessage: { targetMessageKey, ...seal(about, 'Enc Reaction', plain, Buffer.alloc(0)) },
  };
}

/** A comment on a message of the announcement group of a community. */
function sealedComment(world: World, about: About, comment: WireMessage): WireMessage {
  const targetMessageKey = { participant: about.author, fromMe: false, id: about.id };
  const plain = world.coding.encodeMessage(comment);
  return { encCommentMessage: { targetMessageKey, ...seal(about, 'Enc Comment', plain, Buffer.alloc(0)) } };
}

function sealedVote(world: World, about: About, options: readonly string[]): WireMessage {
  const coder = (world.coding.proto.Message as unknown as World['coding']['proto']).PollVoteMessage!;
  const selectedOptions = options.map((option) => sha256(Buffer.from(option)));
  const plain = coder.encode(coder.fromObject({ selectedOptions })).finish();
  const vote = seal(about, 'Poll Vote', plain, Buffer.from(`${about.id}\0${about.sender}`));
  const pollCreationMessageKey = { remoteJid: about.author, fromMe: false, id: about.id };
  return { pollUpdateMessage: { pollCreationMessageKey, vote, senderTimestampMs: Date.now() } };
}

/** How a chat of this addressing names a phone. */
export function nameIn(addressing: 'pn' | 'lid', phone: Phone): string {
  return jidIn(addressing, phone, 0);
}

function seal({ id, secret, author, sender }: About, use: string, plain: Uint8Array, aad: Buffer) {
  const encIv = randomBytes(12);
  const key = hkdf(secret, 32, `${id}${author}${sender}${use}`);
  return { encPayload: sealGcm(key, encIv, plain, aad), encIv };
}
