import { isUserJid, phoneOf } from '@posthorn/contract/jid.ts';
import {
  type OutboundMedia,
  type OutboundMessage,
  SendDeferred,
  SendNotAsked,
  type SendReceipt,
  SendRefused,
  SendUnavailable,
} from '@posthorn/core/network/driver.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import { z } from 'zod/v4';
import { compose } from './compose.ts';
import { uploadMedia } from './media.ts';
import { accessOf, ask, type CloudContext, sendErrorOf, succeeded } from './session-context.ts';

const accepted = z.object({
  messages: z.array(z.object({ id: z.string().min(1) })).min(1),
  contacts: z
    .array(z.object({ wa_id: z.string().regex(/^\d{7,15}$/) }))
    .optional()
    .catch(undefined),
});

/** The network keeps uploads for 30 days. */
const UPLOAD_LIVES_MS = 29 * DAY_MS;
const OUR_ID = /^[0-9A-F]{32}$/;

/** Hands one message over; see the port. The answer says only that the network accepted it. */
export async function send(session: CloudContext, message: OutboundMessage): Promise<SendReceipt> {
  // Nothing was asked yet, so the next session may send it.
  if (session.phase !== 'live') throw new SendDeferred('not_connected');
  const { media, to } = message;
  const ids = {
    quotedId: await networkNameOf(session, message.quotedId).catch(failBefore),
    targetId: await networkNameOf(session, message.target?.id).catch(failBefore),
  };
  const mediaId = media && (await uploaded(session, to, media).catch(failBefore));
  const body = compose(message, { ...ids, mediaId });
  const path = `/${session.credentials.phone_number_id}/messages`;
  const answer = await ask(session, { method: 'POST', path, body }).catch((cause) => {
    throw sendErrorOf(session, to, cause);
  });
  succeeded(session, to);
  const taken = accepted.safeParse(answer);
  if (!taken.success) throw new SendUnavailable('the network answered without an id');
  const assignedId = taken.data.messages[0]!.id;
  session.assigned.set(message.networkId, assignedId);
  tellAccount(session, to, taken.data.contacts?.[0]?.wa_id);
  return { at: session.deps.clock.now(), assignedId };
}

/**
 * Reports that a number leads to an account that has another one: people write from that. Each time, as the owner may have
 * forgotten it; sends go to the account once the owner knows it. A failure costs a later telling.
 */
function tellAccount({ sink, deps }: CloudContext, number: string, account: string | undefined): void {
  if (account === undefined || !isUserJid(number) || phoneOf(number) === account) return;
  sink.facts([{ kind: 'lid', lid: number, phone: account, at: deps.clock.now() }]).catch(() => undefined);
}

const UPLOAD_AGAIN_MS = 5_000;

/** For failures before the network is asked to send: an uploaded file has then reached nobody. */
function failBefore(cause: unknown): never {
  if (cause instanceof SendUnavailable)
    throw new SendDeferred('network_unavailable', { of: 'chat', forMs: UPLOAD_AGAIN_MS });
  throw cause instanceof SendRefused || cause instanceof SendDeferred ? cause : new SendNotAsked(cause);
}

/**
 * The network's own id of a message. One of ours that was accepted a moment ago may have been named by our id, when its
 * answer had not come. The answer may have gone to an earlier session, or a status may have told the id in its place.
 */
async function networkNameOf(
  { assigned, request }: CloudContext,
  id: string | undefined,
): Promise<string | undefined> {
  if (id === undefined || !OUR_ID.test(id)) return id;
  const known = assigned.get(id) ?? (await request.assignedId?.(id));
  if (!known) throw new SendRefused('message_not_found');
  return known;
}

/** The network's id of the media. A file that goes to many chats at the same moment is uploaded once. */
async function uploaded(session: CloudContext, chat: string, media: OutboundMedia): Promise<string> {
  const { deps, uploads, uploading } = session;
  const { key } = media;
  if (key === undefined) return upload(session, chat, media);
  const nowMs = deps.clock.now().getTime();
  const known = uploads.get(key);
  if (known && known.untilMs > nowMs) return known.id;
  const underWay =
    uploading.get(key) ?? upload(session, chat, media).finally(() => void uploading.delete(key));
  uploading.set(key, underWay);
  const id = await underWay;
  uploads.set(key, { id, untilMs: nowMs + UPLOAD_LIVES_MS });
  return id;
}

async function upload(session: CloudContext, chat: string, media: OutboundMedia): Promise<string> {
  return uploadMedia(accessOf(session), media).catch((cause) => {
    throw sendErrorOf(session, chat, cause);
  });
}
