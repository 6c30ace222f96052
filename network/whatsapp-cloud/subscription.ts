/** Where the network posts what is for a number. By number, so that several of one business account do not get each other's. */
import { z } from 'zod/v4';
import type { FormerNumber } from './read-webhook.ts';
import { ask, type CloudContext } from './session-context.ts';

/** The verify token of the last subscription, which each giving of credentials draws anew. */
const SUBSCRIBED = { kind: 'cloud', id: 'subscribed' };

/**
 * Has the network post to us. `taken_over`: it posts to another instance here, although these credentials had it post to this one
 * before, so the number was given to that one since; both would take it from each other at each start of a worker. `leaves`: a
 * logout has begun meanwhile. Throws as `ask`.
 */
export async function subscribe(session: CloudContext): Promise<'subscribed' | 'taken_over' | 'leaves'> {
  const { deps, request, credentials } = session;
  const { phone_number: current, whatsapp_business_account: ofAccount } = await readAddresses(session);
  if (isOfSibling(session, current) && (await hadSubscribed(session))) return 'taken_over';
  const path = `/${credentials.business_account_id}/subscribed_apps`;
  // Where the account has an address the app is subscribed already, and subscribing it again would remove that address.
  if (!ofAccount) await ask(session, { method: 'POST', path, body: {} });
  if (session.leaves) return 'leaves';
  await setAddress(session, deps.callbackUrl(request.instanceId));
  await request.keys.write([{ ...SUBSCRIBED, value: credentials.verify_token }]);
  return 'subscribed';
}

/** The number that the instance had last, and the one before. */
const NUMBERS = { kind: 'cloud', id: 'numbers' };

interface KnownNumbers {
  id: string;
  phone: string;
  former?: FormerNumber | undefined;
}

/**
 * Notes which number the instance has, and gives the one that it had before: what the network has posted for that may wait
 * still. Called once the network posts for the present one.
 */
export async function noteNumber({
  deps,
  request,
  credentials,
}: CloudContext): Promise<FormerNumber | undefined> {
  const { phone_number_id: id, phone } = credentials;
  const rows = await request.keys.read(NUMBERS.kind, [NUMBERS.id]);
  const known = rows.get(NUMBERS.id) as KnownNumbers | undefined;
  if (known?.id === id) return known.former;
  const untilMs = deps.clock.now().getTime();
  const former = known && { phoneNumberId: known.id, phone: known.phone, untilMs };
  await request.keys.write([{ ...NUMBERS, value: { id, phone, former } }]);
  return former;
}

/** Leaves a number alone that another instance has taken over. Throws as `ask`. */
export async function endSubscription(session: CloudContext): Promise<void> {
  const { deps, request } = session;
  const { phone_number: current } = await readAddresses(session);
  if (current === deps.callbackUrl(request.instanceId)) await setAddress(session, '');
}

const address = z.string().optional().catch(undefined);
const configured = z.looseObject({
  webhook_configuration: z
    .looseObject({ phone_number: address, whatsapp_business_account: address })
    .catch({ phone_number: undefined, whatsapp_business_account: undefined }),
});

async function readAddresses(session: CloudContext) {
  const path = `/${session.credentials.phone_number_id}?fields=webhook_configuration`;
  return configured.parse(await ask(session, { method: 'GET', path })).webhook_configuration;
}

/** An empty address ends it. */
async function setAddress(session: CloudContext, url: string): Promise<void> {
  const { phone_number_id: numberId, verify_token } = session.credentials;
  const body = { webhook_configuration: { override_callback_uri: url, verify_token } };
  await ask(session, { method: 'POST', path: `/${numberId}`, body });
}

function isOfSibling({ deps, request }: CloudContext, current: string | undefined): boolean {
  const own = deps.callbackUrl(request.instanceId);
  return current !== own && current?.startsWith(own.slice(0, -request.instanceId.length)) === true;
}

async function hadSubscribed({ request, credentials }: CloudContext): Promise<boolean> {
  const known = await request.keys.read(SUBSCRIBED.kind, [SUBSCRIBED.id]);
  return known.get(SUBSCRIBED.id) === credentials.verify_token;
}
