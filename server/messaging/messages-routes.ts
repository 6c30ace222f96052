import { parseRecipient } from '@posthorn/contract/jid.ts';
import type { messages } from '@posthorn/contract/messaging/messages.ts';
import type { AcceptedSend, Acceptor, NewMessage } from '@posthorn/core/messages/accept-send.ts';
import { findMessage } from '@posthorn/core/messages/find-message.ts';
import type { Db } from '@posthorn/core/platform/db.ts';
import type { Orm } from '@posthorn/core/platform/orm.ts';
import type { HandlerInput } from '../http/call.ts';
import type { Handlers } from '../http/handler.ts';

export interface MessagesRoutesDeps {
  orm: Orm;
  db: Db;
  acceptor: Acceptor;
}

/** Sending and reading messages (spec 4.2). */
export function messagesRoutes(
  deps: MessagesRoutesDeps,
): Pick<Handlers<typeof messages>, 'sendText' | 'get'> {
  return {
    sendText: (input) => {
      const { to, text, quoted_id, mentions } = input.body;
      return accept(deps, input, 'text', {
        type: 'text',
        chatJid: jidOf(to),
        content: mentions ? { text, mentions } : { text },
        quotedId: quoted_id,
      });
    },
    get: async ({ principal, params }) => ({
      status: 200,
      body: await findMessage(deps, { principal, ...params }),
    }),
  };
}

type SendInput = Pick<HandlerInput, 'principal' | 'traceId' | 'headers' | 'body'> & {
  readonly params: { instanceId: string };
};

/** The 202 of every operation that creates a message (spec 4.2 rules 2 and 3). */
async function accept(deps: MessagesRoutesDeps, input: SendInput, operation: string, message: NewMessage) {
  // The gate has seen that it is there and well-formed.
  const idempotencyKey = input.headers['idempotency-key'] as string;
  const accepted = await deps.acceptor.acceptSend({
    principal: input.principal,
    instanceId: input.params.instanceId,
    operation,
    idempotencyKey,
    force: input.headers['x-force-send'] === 'true',
    body: input.body,
    traceId: input.traceId,
    message,
  });
  return {
    status: 202 as const,
    body: {
      status: accepted.status,
      message_id: accepted.messageId,
      task_id: accepted.taskId,
      idempotency_key: idempotencyKey,
    },
    headers: replayHeaders(accepted),
  };
}

const REPLAYED = { 'idempotent-replayed': 'true' };

function replayHeaders(accepted: AcceptedSend): Record<string, string> | undefined {
  return accepted.replayed ? REPLAYED : undefined;
}

/** The contract has refused what is no recipient. */
function jidOf(to: string): string {
  const parsed = parseRecipient(to);
  if ('error' in parsed) throw new Error('an invalid recipient passed the contract');
  return parsed.jid;
}
