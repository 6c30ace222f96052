import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { charsOf, failsWith, integerId, pageOf, pageQuery, phoneField, timestamp, uuid } from '../fields.ts';
import { INSTANCE_NAME_MAX_CHARS, INSTANCE_NAME_MIN_CHARS, LIST_LIMIT, URL_MAX_CHARS } from '../limits.ts';
import { c, route } from '../route-meta.ts';
import { giveCredentialsBody } from './credentials.ts';

export const instanceState = z.enum([
  'CREATED',
  'PAIRING',
  'CONNECTED',
  'DISCONNECTED',
  'HARD_PAUSED',
  'BANNED',
]);
export type InstanceState = z.infer<typeof instanceState>;

const restriction = z
  .string()
  .nullable()
  .meta({ description: 'A restriction that the network imposed, e.g. banned; null when there is none' });

/** Checked more closely by the server, which knows what a proxy's host may be. */
const proxy = z
  .string()
  .max(URL_MAX_CHARS)
  .refine(
    (address) => isProxyAddress(address),
    'must be http://host:port or socks5://host:port, with user:password@ where it needs one',
  );

function isProxyAddress(address: string): boolean {
  try {
    const { protocol, username, password, hostname, pathname, search, hash } = new URL(address);
    for (const part of [username, password]) decodeURIComponent(part);
    return hostname !== '' && /^(http|socks5):\/?$/.test(protocol + pathname + search + hash);
  } catch {
    return false;
  }
}

export const instance = z
  .object({
    id: uuid,
    company_id: integerId,
    name: z.string(),
    driver: z.string().meta({ description: 'The messaging network, e.g. sandbox' }),
    state: instanceState,
    phone: z.string().nullable().meta({ description: 'The phone number, digits only; null until paired' }),
    jid: z.string().nullable(),
    push_name: z.string().nullable(),
    connected_at: timestamp.nullable(),
    last_error: z.string().nullable(),
    restriction,
    proxy: z.string().nullable().meta({ description: 'The proxy, without its password; null without one' }),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Instance' });
export type Instance = z.infer<typeof instance>;

/** 3 to 80 characters, counted as people see them, no control characters. */
const instanceName = z
  .string()
  .trim()
  .refine(
    (name) => {
      const length = charsOf(name);
      return length >= INSTANCE_NAME_MIN_CHARS && length <= INSTANCE_NAME_MAX_CHARS && !/\p{Cc}/u.test(name);
    },
    failsWith('INVALID_INSTANCE_NAME', 'must have 3 to 80 characters'),
  )
  .meta({ description: 'The name, 3 to 80 characters, unique in the company' });

/** The settings that users may choose for an instance. Only chosen values are stored. */
export const settings = z
  .object({
    passive_mode_enabled: z.boolean().meta({
      description: 'Whether the service refuses every send that lacks the header X-Force-Send: true',
    }),
    anti_spam_guard_enabled: z.boolean().meta({
      description: 'Whether the guard refuses duplicate content and too many sends without an answer',
    }),
    anti_spam_temperature_enabled: z.boolean().meta({
      description:
        'Whether the temperature of the contact limits consecutive sends, in place of a fixed number',
    }),
    humanize_enabled: z.boolean().meta({
      description:
        'Whether typing is shown before one-to-one texts, for 0.1 to 0.5 seconds a character; later sends of the queue wait',
    }),
    reject_calls: z.boolean(),
    ignore_groups: z.boolean(),
    always_online: z.boolean(),
    auto_read: z.boolean(),
    store_media: z.boolean().meta({ description: 'Whether received media is stored and gets a media_id' }),
  })
  .meta({ id: 'InstanceSettings' });
export type InstanceSettings = z.infer<typeof settings>;

export const DEFAULT_SETTINGS: Readonly<InstanceSettings> = {
  passive_mode_enabled: false,
  anti_spam_guard_enabled: true,
  anti_spam_temperature_enabled: true,
  humanize_enabled: true,
  reject_calls: false,
  ignore_groups: false,
  always_online: false,
  auto_read: false,
  store_media: true,
};

export const updateSettingsBody = settings.partial().meta({ id: 'UpdateInstanceSettingsRequest' });

export const createInstanceBody = z
  .object({
    name: instanceName,
    driver: z
      .string()
      .min(1)
      .max(40)
      .optional()
      .meta({ description: 'The messaging network; default: the network of this installation' }),
    proxy: proxy.optional().meta({
      description:
        'The proxy to the network: http://user:password@host:port or socks5://. The API never returns its password',
    }),
    settings: updateSettingsBody.optional(),
  })
  .meta({ id: 'CreateInstanceRequest' });

export const updateInstanceBody = z
  .object({
    name: instanceName.optional(),
    proxy: proxy.nullable().optional().meta({
      description: 'The proxy, as on creation; null for a direct connection. The instance reconnects',
    }),
  })
  .meta({ id: 'UpdateInstanceRequest' });

export const qrCode = z
  .object({ qr: z.string().meta({ description: 'The text to draw as a QR code' }), expires_at: timestamp })
  .meta({ id: 'QrCode' });
/** @public The SDK publishes it. */
export type QrCode = z.infer<typeof qrCode>;

export const pairingCodeBody = z.object({ phone: phoneField }).meta({ id: 'PairingCodeRequest' });
export const pairingCode = z
  .object({
    code: z.string().meta({ description: 'Eight characters to type on the phone' }),
    phone: z.string(),
    expires_at: timestamp,
  })
  .meta({ id: 'PairingCode' });
/** @public The SDK publishes it. */
export type PairingCode = z.infer<typeof pairingCode>;

export const instanceMove = z
  .object({ from: instanceState, to: instanceState, reason: z.string().nullable(), at: timestamp })
  .meta({ id: 'InstanceMove' });
/** @public The SDK publishes it. */
export type InstanceMove = z.infer<typeof instanceMove>;

export const connection = z
  .object({
    instance_id: uuid,
    state: instanceState,
    since: timestamp.meta({ description: 'When the present state began' }),
    last_error: z.string().nullable(),
    restriction,
    moves: z.array(instanceMove).meta({ description: 'The latest changes of state, newest first' }),
  })
  .meta({ id: 'Connection' });
export type Connection = z.infer<typeof connection>;

const INSTANCE = '/v1/instances/:instanceId' as const;
const manage = { auth: 'any', access: 'owner_admin', notFound: 'INSTANCE_NOT_FOUND' } as const;

/** 202 with the instance's present state; repeating the call changes nothing more. */
const accepted = { 202: instance };
const transition = { ...manage, errors: ['INVALID_INSTANCE_TRANSITION'] } as const;

export const instances = {
  create: route(
    {
      auth: 'any',
      access: 'owner_admin',
      requiresVerifiedEmail: true,
      errors: ['INVALID_INSTANCE_NAME', 'DUPLICATE_INSTANCE_NAME', 'PLAN_LIMIT_REACHED'],
      summary: 'Create an instance',
      description: 'An instance is one account on the messaging network. Connect it to pair it with a phone.',
    },
    { method: 'POST', path: '/v1/instances', body: createInstanceBody, responses: { 201: instance } },
  ),
  list: route(
    { auth: 'any', access: 'owner_admin', summary: 'List instances', description: 'Newest first.' },
    {
      method: 'GET',
      path: '/v1/instances',
      query: z.object({ ...pageQuery(LIST_LIMIT), state: instanceState.optional() }),
      responses: { 200: pageOf(instance).meta({ id: 'InstanceList' }) },
    },
  ),
  get: route(
    { ...manage, summary: 'Read an instance' },
    { method: 'GET', path: INSTANCE, responses: { 200: instance } },
  ),
  update: route(
    {
      ...manage,
      errors: ['INVALID_INSTANCE_NAME', 'DUPLICATE_INSTANCE_NAME'],
      summary: 'Rename an instance, or change its proxy',
    },
    { method: 'PATCH', path: INSTANCE, body: updateInstanceBody, responses: { 200: instance } },
  ),
  remove: route(
    { ...manage, summary: 'Delete an instance', description: 'Logs the instance out of the network first.' },
    { method: 'DELETE', path: INSTANCE, responses: { 204: c.noBody() } },
  ),
  connect: route(
    {
      ...transition,
      summary: 'Connect an instance',
      description:
        'Begins pairing when the instance was never paired. Events instance.* report the progress.',
    },
    { method: 'POST', path: `${INSTANCE}/connect`, body: c.noBody(), responses: accepted },
  ),
  disconnect: route(
    { ...transition, summary: 'Disconnect an instance', description: 'Keeps the pairing.' },
    { method: 'POST', path: `${INSTANCE}/disconnect`, body: c.noBody(), responses: accepted },
  ),
  restart: route(
    {
      ...transition,
      summary: 'Reconnect an instance',
    },
    { method: 'POST', path: `${INSTANCE}/restart`, body: c.noBody(), responses: accepted },
  ),
  logout: route(
    {
      ...transition,
      summary: 'Log out an instance',
      description: 'Ends the pairing and keeps the settings. Connecting pairs it again.',
    },
    { method: 'POST', path: `${INSTANCE}/logout`, body: c.noBody(), responses: accepted },
  ),
  giveCredentials: route(
    {
      ...manage,
      errors: ['INVALID_INSTANCE_TRANSITION', 'CREDENTIALS_REFUSED', 'NOT_IMPLEMENTED'],
      summary: 'Set the credentials of an instance and connect it',
      description:
        'For instances of driver whatsapp-cloud. The service checks the credentials with Meta first; when Meta refuses them, nothing changes. It stores them encrypted and never returns them; setting them again replaces them. 501 on a network that pairs with a phone.',
    },
    {
      method: 'PUT',
      path: `${INSTANCE}/credentials`,
      body: giveCredentialsBody,
      responses: { 200: instance },
    },
  ),
  qr: route(
    {
      ...transition,
      produces: ['image/png'],
      raw: 'binary',
      summary: 'Get the QR code to pair with',
      description:
        'Returns a PNG, or JSON when Accept asks for application/json. 409 when no pairing is in progress; 503 with Retry-After while the network has not issued a code yet.',
    },
    { method: 'GET', path: `${INSTANCE}/qr`, responses: { 200: qrCode } },
  ),
  pairingCode: route(
    {
      ...manage,
      errors: ['INVALID_PHONE', 'INVALID_INSTANCE_TRANSITION', 'NOT_IMPLEMENTED'],
      summary: 'Get a code to pair with, in place of the QR code',
      description: '503 with Retry-After when the network does not answer within 15 seconds.',
    },
    {
      method: 'POST',
      path: `${INSTANCE}/pairing-code`,
      body: pairingCodeBody,
      responses: { 200: pairingCode },
    },
  ),
  connection: route(
    { ...manage, summary: 'Read the state of the connection and its latest changes' },
    { method: 'GET', path: `${INSTANCE}/connection`, responses: { 200: connection } },
  ),
  getSettings: route(
    { ...manage, summary: 'Read the settings' },
    { method: 'GET', path: `${INSTANCE}/settings`, responses: { 200: settings } },
  ),
  updateSettings: route(
    { ...manage, summary: 'Change settings', description: 'Only the given fields change.' },
    { method: 'PATCH', path: `${INSTANCE}/settings`, body: updateSettingsBody, responses: { 200: settings } },
  ),
} satisfies AppRouter;
