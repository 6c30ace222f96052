import type { Message } from '@posthorn/sdk/index.ts';
import type { SendKind } from '../../api/use-send-kinds.ts';

export interface SendOfMessage {
  kind: SendKind;
  body: Record<string, unknown>;
}

/** The send that would create this message again; null for a type that no send creates, or if the content is gone. */
export function sendOfMessage(message: Message, kinds: readonly SendKind[]): SendOfMessage | null {
  const { content, deleted_at: deletedAt, direction } = message;
  const path = pathOf(message);
  const kind = kinds.find((one) => one.path === path);
  if (!kind || direction !== 'outbound' || deletedAt || 'status_reply' in content) return null;
  const fields = {
    to: message.phone || message.chat_jid,
    media_id: message.media_id,
    ...content,
    ...(content.preview as object | undefined),
    ...('contacts' in content && { contacts: (content.contacts as object[]).map(cardOf) }),
    quoted_id: message.quoted_id,
  };
  const known = Object.keys(kind.body.properties ?? {});
  return {
    kind,
    body: Object.fromEntries(
      Object.entries(fields).filter(([name, value]) => known.includes(name) && (value ?? null) !== null),
    ),
  };
}

/** The path of the send for a message type. A text with a preview has its own send. */
function pathOf({ message_type: type, content }: Message): string {
  if (type === 'text' && content.preview) return 'link-preview';
  return type.replace(/^status_/, 'status/').replace('_', '-');
}

/** A card is stored with its parsed fields, but sent only as a vCard. */
function cardOf(card: { vcard?: string }): object {
  return { vcard: card.vcard };
}
