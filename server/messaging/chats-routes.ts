import type { chats, contacts } from '@posthorn/contract/messaging/chats.ts';
import { archiveChat, muteChat, pinChat, readChat } from '@posthorn/core/chats/change-chat.ts';
import { blockContact, checkContacts } from '@posthorn/core/chats/check-contacts.ts';
import { findChat } from '@posthorn/core/chats/find-chat.ts';
import { listChats } from '@posthorn/core/chats/list-chats.ts';
import { findContact, listContacts } from '@posthorn/core/chats/list-contacts.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import type { Handlers } from '../http/handler.ts';

/** Chats, as the phone shows them (docs/reference/labels-chats.md). */
export function chatsRoutes(deps: RpcDeps): Handlers<typeof chats> {
  return {
    list: async ({ principal, params, query }) => {
      const { data, nextCursor } = await listChats(deps, { principal, ...params, filter: query });
      return { status: 200, body: { data, next_cursor: nextCursor } };
    },
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findChat(deps, { principal, ...params }),
    }),
    read: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await readChat(deps, { principal, ...params, signal }, body.read),
    }),
    archive: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await archiveChat(deps, { principal, ...params, signal }, body.archived),
    }),
    pin: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await pinChat(deps, { principal, ...params, signal }, body.pinned),
    }),
    mute: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await muteChat(deps, { principal, ...params, signal }, body),
    }),
  };
}

/** The phone's saved contacts, and people who have written to it. */
export function contactsRoutes(deps: RpcDeps): Handlers<typeof contacts> {
  return {
    list: async ({ principal, params, query }) => {
      const { data, nextCursor } = await listContacts(deps, { principal, ...params, filter: query });
      return { status: 200, body: { data, next_cursor: nextCursor } };
    },
    check: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await checkContacts(deps, { principal, ...params, ...body, signal }),
    }),
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findContact(deps, { principal, ...params }),
    }),
    block: async ({ principal, params, signal }) => ({
      status: 200,
      body: await blockContact(deps, { principal, ...params, blocked: true, signal }),
    }),
    unblock: async ({ principal, params, signal }) => ({
      status: 200,
      body: await blockContact(deps, { principal, ...params, blocked: false, signal }),
    }),
  };
}
