/** What a message of the port is on this network's wire. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { OutboundMessage } from '@posthorn/core/network/driver.ts';
import type { MediaInfo } from '../families/media.ts';
import type { SendItem } from '../frames.ts';

/**
 * Media, target and answered status ride in the content. A forward names its source and nothing else: the
 * network copies it from the device. A status is an ordinary type sent to the broadcast chat.
 */
export function envelopeOf(message: OutboundMessage, media: MediaInfo | undefined): Omit<SendItem, 'n'> {
  const { networkId: id, to, quotedId: quoted, target, source, status } = message;
  if (source) return { id, to, type: 'forward', content: { source }, quoted };
  const { status_reply: _, message_id: referred, ...content } = message.content;
  return {
    id,
    to,
    type: to === STATUS_BROADCAST ? message.type.replace(/^status_/, '') : message.type,
    content: {
      ...content,
      // The wire names the message by its target.
      ...(target ? { target } : referred === undefined ? {} : { message_id: referred }),
      ...(media ? { media } : {}),
      ...(status ? { status } : {}),
    },
    quoted: status ? status.id : quoted,
  };
}
