/** Sends a message from a virtual phone: any family, to a person, a group or its status audience. */
import { isGroupJid, STATUS_BROADCAST } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';
import { families } from '../families/registry.ts';
import { phoneNumber } from '../phone-number.ts';
import { newNetworkId, takeMessage } from '../state/deliver.ts';
import { maySend } from '../state/groups.ts';
import type { Message, Phone } from '../state/model.ts';
import { phoneFor } from '../state/phones.ts';
import type { World } from '../state/world.ts';
import { ControlError, parseWith } from './http.ts';

const sendBody = z.looseObject({
  /** A phone, a group's JID, or `status`. */
  to: z.string(),
  type: z.string().default('text'),
  quoted_id: z.string().optional(),
  /** The status being answered by a direct message. */
  status_id: z.string().optional(),
  forwarding_score: z.int().min(0).default(0),
  /** The network id; generated if absent. Repeating an id returns the existing message. */
  id: z
    .string()
    .regex(/^[A-Za-z0-9_-]{1,64}$/)
    .optional(),
});

const upload = z.looseObject({
  media_base64: z.base64(),
  mime_type: z.string().min(1),
  file_name: z.string().default(''),
  animated: z.boolean().optional(),
});

/** Throws ControlError: BAD_REQUEST, or 409 REFUSED with the network's reason. */
export function sendFromPhone(world: World, from: Phone, body: unknown): Message {
  const { to, type, id, quoted_id, status_id, forwarding_score, ...rest } = parseWith(sendBody, body);
  const family = families.get(type);
  if (!family) {
    throw new ControlError(400, 'BAD_REQUEST', `type: must be one of ${[...families.keys()].join(', ')}`);
  }
  const recipient = recipientOf(world, to);
  const group = world.groups.get(recipient);
  if (group && !maySend(group, from, type)) {
    throw new ControlError(409, 'REFUSED', 'the network refuses it: only_admins_send');
  }
  const content = parseWith(family.phoneBody, withMedia(world, rest));
  if (status_id !== undefined) content.status = { id: status_id, author: recipient };
  const taken = takeMessage(
    world,
    {
      id: id ?? newNetworkId(),
      from,
      to: recipient,
      type,
      content,
      quotedId: quoted_id ?? status_id,
      forwarded: forwarding_score,
    },
    { ledger: false },
  );
  if (typeof taken === 'string') throw new ControlError(409, 'REFUSED', `the network refuses it: ${taken}`);
  return taken.message;
}

function recipientOf(world: World, to: string): string {
  if (to === 'status' || to === STATUS_BROADCAST) return STATUS_BROADCAST;
  if (!isGroupJid(to)) return phoneFor(world, parseWith(phoneNumber, to)).jid;
  if (!world.groups.has(to)) throw new ControlError(404, 'GROUP_NOT_FOUND', 'nobody made this group');
  return to;
}

/** Stores base64 media on the CDN and replaces it by its handle, as for any upload. */
function withMedia(world: World, fields: Record<string, unknown>): Record<string, unknown> {
  if (fields.media_base64 === undefined) return fields;
  const { media_base64, mime_type, file_name, animated, ...rest } = parseWith(upload, fields);
  const stored = world.cdn.put(Buffer.from(media_base64, 'base64'));
  return {
    ...rest,
    ...(file_name ? { file_name } : {}),
    media: { ...stored, mime_type, file_name, ...(animated === undefined ? {} : { animated }) },
  };
}
