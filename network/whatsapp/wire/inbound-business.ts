/** Reads what businesses send to choose from, what was chosen, orders and products. No I/O. */
import { given } from './given.ts';
import type { Body } from './inbound-media.ts';
import { numberOf } from './numbers.ts';
import type { WireInteractive, WireMessage, WireTemplate } from './wire-types.ts';

type Reader = (message: WireMessage) => Body;

export const BUSINESS_READERS = {
  buttonsMessage: ({ buttonsMessage }) => {
    const { contentText, footerText, buttons } = buttonsMessage!;
    const offered = (buttons ?? []).map(({ buttonId, buttonText }) => ({
      text: buttonText?.displayText ?? '',
      id: buttonId ?? '',
    }));
    return offerOf(null, contentText, footerText, offered);
  },
  templateMessage: ({ templateMessage }) => {
    const { hydratedTemplate, hydratedFourRowTemplate, interactiveMessageTemplate } = templateMessage!;
    if (interactiveMessageTemplate) return readInteractive(interactiveMessageTemplate);
    return readTemplate(hydratedTemplate ?? hydratedFourRowTemplate ?? {});
  },
  interactiveMessage: ({ interactiveMessage }) => readInteractive(interactiveMessage!),
  listMessage: ({ listMessage }) => {
    const { title, description, footerText, sections } = listMessage!;
    const rows = (sections ?? []).flatMap((section) => section.rows ?? []);
    const offered = rows.map((row) => ({ text: row.title ?? '', id: row.rowId ?? '' }));
    return offerOf(title, description, footerText, offered);
  },
  buttonsResponseMessage: ({ buttonsResponseMessage: reply }) =>
    replyOf(reply?.contextInfo?.stanzaId, reply?.selectedButtonId, reply?.selectedDisplayText),
  templateButtonReplyMessage: ({ templateButtonReplyMessage: reply }) =>
    replyOf(reply?.contextInfo?.stanzaId, reply?.selectedId, reply?.selectedDisplayText),
  listResponseMessage: ({ listResponseMessage: reply }) =>
    replyOf(reply?.contextInfo?.stanzaId, reply?.singleSelectReply?.selectedRowId, reply?.title),
  interactiveResponseMessage: ({ interactiveResponseMessage: reply }) => {
    const { name, paramsJson } = reply?.nativeFlowResponseMessage ?? {};
    return replyOf(reply?.contextInfo?.stanzaId, textIn(paramsJson, 'id') ?? name, reply?.body?.text);
  },
  orderMessage: ({ orderMessage }) => readBusiness('order', 'order_id', orderMessage?.orderId, orderMessage),
  productMessage: ({ productMessage }) =>
    readBusiness('product', 'product_id', productMessage?.product?.productId, productMessage?.product),
} satisfies { [Kind in keyof WireMessage]?: Reader };

type Offered = { text: string; id?: string; url?: string };

function offerOf(
  header: string | null | undefined,
  body: string | null | undefined,
  footer: string | null | undefined,
  buttons: Offered[],
): Body {
  return {
    type: 'template',
    content: {
      ...given({ header_text: header || null }),
      body_text: body ?? '',
      ...given({ footer_text: footer || null }),
      buttons,
    },
  };
}

function readTemplate(template: WireTemplate): Body {
  const { hydratedTitleText, hydratedContentText, hydratedFooterText, hydratedButtons } = template;
  const offered = (hydratedButtons ?? []).map(
    ({ quickReplyButton: reply, urlButton, callButton }): Offered => {
      if (reply) return { text: reply.displayText ?? '', id: reply.id ?? '' };
      if (urlButton) return { text: urlButton.displayText ?? '', url: urlButton.url ?? '' };
      return { text: callButton?.displayText ?? '' };
    },
  );
  return offerOf(hydratedTitleText, hydratedContentText, hydratedFooterText, offered);
}

function readInteractive({ header, body, footer, nativeFlowMessage }: WireInteractive): Body {
  const offered = (nativeFlowMessage?.buttons ?? []).map(({ name, buttonParamsJson: params }): Offered => {
    const [id, url] = [textIn(params, 'id'), textIn(params, 'url')];
    const text = textIn(params, 'display_text') ?? textIn(params, 'title') ?? name ?? '';
    return { text, ...given({ id, url }) };
  });
  return offerOf(header?.title, body?.text, footer?.text, offered);
}

/** A text in JSON that anybody may have written. */
function textIn(json: string | null | undefined, field: string): string | undefined {
  try {
    const value = (JSON.parse(json ?? '') as Record<string, unknown> | null)?.[field];
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}

function replyOf(
  messageId: string | null | undefined,
  buttonId: string | null | undefined,
  text: string | null | undefined,
): Body {
  return {
    type: 'template_reply',
    content: { message_id: messageId ?? '', button_id: buttonId ?? '', ...given({ text: text || null }) },
  };
}

/** The text and number fields of an order or product, unchanged. */
function readBusiness(
  type: string,
  idField: string,
  id: string | null | undefined,
  fields: object | null | undefined,
): Body {
  const plain = Object.entries(fields ?? {}).flatMap(([name, value]) => {
    if (typeof value === 'string') return value === '' ? [] : [[name, value]];
    const number = typeof value === 'number' || (value && typeof value === 'object') ? longOf(value) : null;
    return number === null ? [] : [[name, number]];
  });
  return { type, content: { [idField]: id ?? '', detail: Object.fromEntries(plain) } };
}

function longOf(value: unknown): number | null {
  if (typeof value === 'number') return value;
  const isLong = typeof (value as { toNumber?: unknown }).toNumber === 'function';
  return isLong ? numberOf(value as { toNumber(): number }) : null;
}
