/** Converts a message of the port to this network's wire format. */
import type { Operation } from '@posthorn/contract/message-types.ts';
import type { Composers } from '@posthorn/core/network/abilities.ts';
import type { NetworkActions } from '@posthorn/core/network/actions.ts';
import type { OutboundMessage } from '@posthorn/core/network/driver.ts';
import { operationOf } from '@posthorn/core/network/messages.ts';
import type { MediaInfo } from '../families/media.ts';
import type { FamilyName } from '../families/registry.ts';
import type { SendItem } from '../frames.ts';

/** The templates of this network need no approval, and its buttons are those of templates. */
export const LACKS = [
  ...['approved_template', 'list', 'link_button'],
  ...['template_list', 'template_create', 'template_delete'],
] as const satisfies readonly (Operation | keyof NetworkActions)[];

/** The family that carries each send operation; null: that of the message's type. */
export const FAMILIES: Composers<FamilyName | null, (typeof LACKS)[number]> = {
  text: 'text',
  link_preview: 'text',
  image: 'image',
  video: 'video',
  audio: 'audio',
  document: 'document',
  sticker: 'sticker',
  ptv: 'ptv',
  gif: 'gif',
  location: 'location',
  contact: 'contact',
  event: 'event',
  template: 'template',
  poll: 'poll',
  reaction: 'reaction',
  edit: 'edit',
  delete: 'delete',
  forward: 'forward',
  // A status is an ordinary type sent to the broadcast chat.
  status_text: 'text',
  status_image: 'image',
  status_video: 'video',
  status_audio: 'audio',
  status_reply: null,
};

/**
 * Media, target and answered status are part of the content. A forward only names its source: the network
 * copies that from the device.
 */
export function envelopeOf(message: OutboundMessage, media: MediaInfo | undefined): Omit<SendItem, 'n'> {
  const { networkId: id, to, quotedId: quoted, target, source, status } = message;
  if (source) return { id, to, type: 'forward', content: { source }, quoted };
  const { status_reply: _, message_id: referred, ...content } = message.content;
  return {
    id,
    to,
    type: (FAMILIES as Partial<Record<string, FamilyName | null>>)[operationOf(message)] ?? message.type,
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
