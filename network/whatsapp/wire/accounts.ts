/** The query for which numbers have an account, and which of them are businesses or what their anonymous ids are. */
import type { WireNode } from '../library-types.ts';
import { childOf, childrenOf } from './nodes.ts';

export interface Account {
  /** The queried digits; empty if the network does not repeat them. */
  asked: string;
  /**
   * The account's own address, which may differ from the queried number: Brazilian numbers and their ninth
   * digit.
   */
  jid: string;
  exists: boolean;
  isBusiness: boolean;
  /** Undefined where the network does not tell it, or was not asked. */
  lid: string | undefined;
}

const ASKED: Readonly<Record<'businesses' | 'ids', readonly WireNode[]>> = {
  businesses: [
    { tag: 'business', attrs: {}, content: [{ tag: 'verified_name', attrs: {} }] },
    { tag: 'contact', attrs: {} },
  ],
  ids: [
    { tag: 'contact', attrs: {} },
    { tag: 'lid', attrs: {} },
  ],
};

/** `phones` are digits; `sid` identifies the query. */
export function accountsQuestion(
  phones: readonly string[],
  sid: string,
  about: keyof typeof ASKED,
): WireNode {
  const users = phones.map((phone) => ({
    tag: 'user',
    attrs: {},
    content: [{ tag: 'contact', attrs: {}, content: `+${phone}` }],
  }));
  return {
    tag: 'iq',
    attrs: { to: '@s.whatsapp.net', type: 'get', xmlns: 'usync' },
    content: [
      {
        tag: 'usync',
        attrs: { context: 'interactive', mode: 'query', sid, last: 'true', index: '0' },
        content: [
          { tag: 'query', attrs: {}, content: structuredClone(ASKED[about]) },
          { tag: 'list', attrs: {}, content: users },
        ],
      },
    ],
  };
}

/** Throws if there is no answer. A business is recognized by a name certified by the network. */
export function readAccounts(answer: WireNode | undefined): Account[] {
  const list = childOf(childOf(answer, 'usync'), 'list');
  if (!list) throw new Error('the network did not answer');
  return childrenOf(list).flatMap((user) => {
    const contact = childOf(user, 'contact');
    if (!user.attrs.jid || !contact) return [];
    const isBusiness = childOf(childOf(user, 'business'), 'verified_name') !== undefined;
    const asked = textOf(contact).replace(/\D/g, '');
    const { val: lid } = childOf(user, 'lid')?.attrs ?? {};
    return [{ asked, jid: user.attrs.jid, exists: contact.attrs.type === 'in', isBusiness, lid }];
  });
}

function textOf({ content }: WireNode): string {
  if (typeof content === 'string') return content;
  return content instanceof Uint8Array ? Buffer.from(content).toString('utf8') : '';
}
