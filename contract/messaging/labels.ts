import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { nameField } from '../fields.ts';
import { LABEL_COLOR_MAX, LABELS_MAX } from '../limits.ts';
import { c, route } from '../route-meta.ts';

const labelId = z.string().meta({ description: `The slot of the label, "1" to "${LABELS_MAX}"` });
const color = z
  .int()
  .min(0)
  .max(LABEL_COLOR_MAX)
  .meta({ description: `The number of the color, 0 to ${LABEL_COLOR_MAX}` });

export const label = z.object({ label_id: labelId, name: z.string(), color }).meta({ id: 'Label' });
export type Label = z.infer<typeof label>;

export const createLabelBody = z.object({ name: nameField, color }).meta({ id: 'CreateLabelRequest' });

export const updateLabelBody = z
  .object({ name: nameField.optional(), color: color.optional() })
  .meta({ id: 'UpdateLabelRequest' });

const associated = z.boolean().meta({ description: 'Whether the chat or message has the label now' });

export const labelledChat = z
  .object({ label_id: labelId, chat: z.string().meta({ description: 'The JID of the chat' }), associated })
  .meta({ id: 'LabelledChat' });
export type LabelledChat = z.infer<typeof labelledChat>;

export const labelledMessage = z
  .object({ label_id: labelId, message_id: z.string(), associated })
  .meta({ id: 'LabelledMessage' });
export type LabelledMessage = z.infer<typeof labelledMessage>;

const INSTANCE = '/v1/instances/:instanceId' as const;
const READ = { auth: 'any', access: 'owner_admin', notFound: 'INSTANCE_NOT_FOUND' } as const;
/** Errors of a change that the device has to make as well. */
const DEVICE_ERRORS = [
  'INSTANCE_NOT_CONNECTED',
  'INSTANCE_BANNED',
  'INSTANCE_HARD_PAUSED',
  'SEND_FAILED',
  'NOT_IMPLEMENTED',
] as const;
const CHANGE = { ...READ, errors: ['NOT_FOUND', ...DEVICE_ERRORS] } as const;
const CHANGE_CHAT = {
  ...READ,
  errors: ['NOT_FOUND', 'INVALID_PHONE', 'INVALID_RECIPIENT', ...DEVICE_ERRORS],
} as const;
const CHANGE_MESSAGE = { ...READ, errors: ['NOT_FOUND', 'MESSAGE_NOT_FOUND', ...DEVICE_ERRORS] } as const;
const CHATS_LABEL = `${INSTANCE}/chats/:chatId/labels/:labelId` as const;
const MESSAGES_LABEL = `${INSTANCE}/messages/:messageId/labels/:labelId` as const;

/** Labels on chats and messages, shared with the devices of the account. */
export const labels = {
  create: route(
    {
      ...READ,
      errors: DEVICE_ERRORS,
      summary: 'Create a label',
      description: `Takes the first free slot of 1 to ${LABELS_MAX}. When all are used: 400 "label limit reached".`,
    },
    { method: 'POST', path: `${INSTANCE}/labels`, body: createLabelBody, responses: { 201: label } },
  ),
  list: route(
    { ...READ, summary: 'List the labels', description: 'Includes labels created on the devices.' },
    {
      method: 'GET',
      path: `${INSTANCE}/labels`,
      responses: { 200: z.object({ labels: z.array(label) }).meta({ id: 'LabelList' }) },
    },
  ),
  update: route(
    { ...CHANGE, summary: 'Change the name or the color of a label' },
    {
      method: 'PATCH',
      path: `${INSTANCE}/labels/:labelId`,
      body: updateLabelBody,
      responses: { 200: label },
    },
  ),
  remove: route(
    { ...CHANGE, summary: 'Delete a label', description: 'Also takes the label off chats and messages.' },
    { method: 'DELETE', path: `${INSTANCE}/labels/:labelId`, responses: { 204: c.noBody() } },
  ),
  listChats: route(
    { ...READ, errors: ['NOT_FOUND'], summary: 'List the chats with a label' },
    {
      method: 'GET',
      path: `${INSTANCE}/labels/:labelId/chats`,
      responses: {
        200: z
          .object({
            label_id: labelId,
            chats: z.array(z.string()).meta({ description: 'The JIDs of the chats, each once' }),
          })
          .meta({ id: 'LabelChats' }),
      },
    },
  ),
  addToChat: route(
    { ...CHANGE_CHAT, summary: 'Put a label on a chat' },
    { method: 'POST', path: CHATS_LABEL, body: c.noBody(), responses: { 200: labelledChat } },
  ),
  removeFromChat: route(
    { ...CHANGE_CHAT, summary: 'Take a label off a chat' },
    { method: 'DELETE', path: CHATS_LABEL, responses: { 200: labelledChat } },
  ),
  addToMessage: route(
    { ...CHANGE_MESSAGE, summary: 'Put a label on a message' },
    { method: 'POST', path: MESSAGES_LABEL, body: c.noBody(), responses: { 200: labelledMessage } },
  ),
  removeFromMessage: route(
    { ...CHANGE_MESSAGE, summary: 'Take a label off a message' },
    { method: 'DELETE', path: MESSAGES_LABEL, responses: { 200: labelledMessage } },
  ),
} satisfies AppRouter;
