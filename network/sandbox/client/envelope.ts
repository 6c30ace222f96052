/** Converts a message of the port to this network's wire format. */
import { STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import type { OutboundMessage } from '@posthorn/core/network/driver.ts';
import type { MediaInfo } from '../families/media.ts';
import type { SendItem } from '../frames.ts';

/**
 * Media, target and answered status are part of the content. A forward only names its source: the network
 * copies that from the device. A status is an ordinary type sent to the broadcast chat.
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
      // On the wire, the target identifies the message.
      ...(target ? { target } : referred === undefined ? {} : { message_id: referred }),
      ...(media ? { media } : {}),
      ...(status ? { status } : {}),
    },
    quoted: status ? status.id : quoted,
  };
}
