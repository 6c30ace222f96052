import type { WhatsAppLibrary } from './library-types.ts';

const MENDED = Symbol.for('posthorn.whatsapp.own-copies');

/**
 * In the copy of a message that a phone gives its own devices, the secret of the message stands beside it. The
 * library takes the message alone: votes in a poll that was made on the phone, and what its user edits, could not be
 * read. Repeated calls have no effect.
 */
export function keepSecretsOfOwn({ proto: { Message } }: WhatsAppLibrary): void {
  if (MENDED in Message) return;
  const { decode } = Message;
  Object.assign(Message, {
    decode(...given: Parameters<typeof decode>) {
      const message = decode(...given);
      const own = message.deviceSentMessage?.message;
      if (own && message.messageContextInfo)
        own.messageContextInfo = Object.assign(message.messageContextInfo, own.messageContextInfo);
      return message;
    },
    [MENDED]: true,
  });
}
