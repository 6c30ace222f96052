import type { Message } from '@posthorn/sdk/index.ts';
import type { SendKind } from '../../api/use-send-kinds.ts';

export interface SendOfMessage {
  kind: SendKind;
  body: Record<string, unknown>;
}

/** The send that makes such a message again; null for what no send makes, and for one whose content is gone. */
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

/** The type as the path of its send spells it. A text with a preview has a send of its own. */
function pathOf({ message_type: type, content }: Message): string {
  if (type === 'text' && content.preview) return 'link-preview';
  return type.replace(/^status_/, 'status/').replace('_', '-');
}

/** A card is stored with what was read from it, and sent as it stands. */
function cardOf(card: { vcard?: string }): object {
  return { vcard: card.vcard };
}
