/** Opens what others have sealed with the secret of a message that is stored here: votes, new words, reactions, and comments. */
import { findMessage } from './find-message.ts';
import { namesOfAuthor, type WhatsAppContext } from './session-context.ts';
import { secretOf, unwrap } from './wire/content.ts';
import { type Arrived, bodyOf, envelopeOf, type Read, readArrived } from './wire/inbound.ts';
import type { KnownMessage } from './wire/outbound.ts';
import { openWith, type SealedUse } from './wire/secrets.ts';
import { optionsOf } from './wire/votes.ts';
import { PROTOCOL, type WireMessage } from './wire/wire-types.ts';

type SealedRead = Extract<Read, { kind: 'sealed' }>;

const NONE: Read = { kind: 'none' };
/** The network's own apps create no polls with more options. Each costs a hash per vote. */
const OPTIONS_MAX = 100;

/** `none` if the message, its secret or the sender's key is missing, or if what was sealed cannot be read. */
export async function openSealed(
  session: WhatsAppContext,
  arrived: Arrived,
  { use, target, sealed }: SealedRead,
): Promise<Read> {
  const about = await findMessage(session, arrived.chat, target.id);
  const secret = about && secretOf(about.message);
  if (!about || !secret) return NONE;
  // When it was sealed, either side may have been named by phone or by anonymous id.
  for (const author of await namesOfAuthor(session, about)) {
    for (const sender of await namesOfAuthor(session, arrived)) {
      const opened = openWith({ use, id: target.id, author, sender, secret }, sealed);
      if (opened) return read(session, { arrived, about, target, opened }, use);
    }
  }
  return NONE;
}

interface Opened {
  arrived: Arrived;
  about: KnownMessage;
  target: SealedRead['target'];
  opened: Buffer;
}

function read(session: WhatsAppContext, opened: Opened, use: SealedUse): Read {
  try {
    return READERS[use](session, opened);
  } catch (err) {
    session.deps.log.warn(
      { err, instance_id: session.request.instanceId },
      'reading a sealed message failed',
    );
    return NONE;
  }
}

/** They throw for bytes that are not what they are sealed as. */
const READERS: Record<SealedUse, (session: WhatsAppContext, opened: Opened) => Read> = {
  'Poll Vote': ({ library }, { arrived, about, target, opened }) => {
    const { options } = bodyOf(unwrap(about.message)).content;
    // Other messages have a secret, too.
    if (!Array.isArray(options) || options.length > OPTIONS_MAX) return NONE;
    const vote = library.proto.Message.PollVoteMessage.decode(opened);
    const selected = optionsOf(options, (vote.selectedOptions ?? []).slice(0, OPTIONS_MAX));
    const content = { poll_message_id: target.id, selected_options: selected };
    return {
      kind: 'message',
      message: { ...envelopeOf(arrived, arrived.message), type: 'poll_vote', content },
    };
  },

  'Message Edit': ({ library }, { arrived, target, opened }) => {
    const message = library.proto.Message.decode(opened);
    const { protocolMessage } = unwrap(message).message;
    const editedMessage = protocolMessage ? protocolMessage.editedMessage : message;
    const edit = { type: PROTOCOL.edit, key: { id: target.id }, editedMessage };
    return readAs(arrived, { protocolMessage: edit });
  },

  'Enc Reaction': ({ library }, { arrived, target, opened }) => {
    const { text } = library.proto.Message.ReactionMessage.decode(opened);
    return readAs(arrived, { reactionMessage: { key: target, text } });
  },

  'Enc Comment': ({ library }, { arrived, target, opened }) => {
    const comment = readAs(arrived, library.proto.Message.decode(opened));
    if (comment.kind !== 'message') return NONE;
    return { ...comment, message: { ...comment.message, quotedId: target.id } };
  },
};

function readAs(arrived: Arrived, message: WireMessage): Read {
  return readArrived({ ...arrived, message });
}
