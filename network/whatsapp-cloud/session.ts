/** One instance's session with the Cloud API: requests out, and what the network posted in. */
import {
  type NetworkSession,
  type OpenRequest,
  SendRefused,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import { GraphRefused } from '@posthorn/core/network/graph-api.ts';
import { z } from 'zod/v4';
import { ACTIONS, markRead } from './actions.ts';
import { credentialsShape } from './credentials.ts';
import { startHandOver } from './hand-over.ts';
import { downloadMedia } from './media.ts';
import type { Told } from './read-webhook.ts';
import { send } from './send.ts';
import {
  ask,
  type CloudContext,
  type CloudDeps,
  createContext,
  downloadErrorOf,
  end,
  heed,
  requireLive,
  restrict,
} from './session-context.ts';
import { verdictOf } from './verdicts.ts';

const NO_CREDENTIALS =
  'this instance has no credentials yet; give it some: PUT /v1/instances/{id}/credentials';

/** Resolves at once; whether the credentials still hold arrives at the sink. */
export function openSession(deps: CloudDeps, request: OpenRequest, sink: SessionSink): NetworkSession {
  const given = credentialsShape.safeParse(request.credentials);
  const session = createContext(deps, request, sink, given.data ?? NOBODY);
  if (given.success) void begin(session);
  else setImmediate(() => end(session, 'credentials_refused', NO_CREDENTIALS));
  return {
    send: (message) => send(session, message),
    recorded() {},
    // It would mark what came as read, which nobody asked for; whoever does may ask for it (actions.ts).
    async typing() {},
    async markRead(chat, networkIds) {
      requireLive(session);
      await markRead(session, chat, networkIds);
    },
    async act(op, args) {
      requireLive(session);
      const answer = (ACTIONS as Readonly<Record<string, (session: CloudContext, args: never) => unknown>>)[
        op
      ];
      if (!answer) throw new SendRefused('unsupported_call');
      return (await answer(session, args as never)) as never;
    },
    download: (media) =>
      downloadMedia(accessOf(session), media).catch((cause) => {
        throw downloadErrorOf(session, cause);
      }),
    requestPairingCode: async () => {
      throw new SendRefused('unsupported_call');
    },
    async logout() {
      await unsubscribe(session).catch((err) => deps.log.debug({ err }, 'ending the subscription failed'));
      end(session, 'logged_out');
    },
    async close() {
      const { handOver } = session;
      end(session, 'closed');
      await handOver?.stop();
    },
  };
}

const NOBODY = {
  phone_number_id: '',
  business_account_id: '',
  access_token: '',
  verify_token: '',
  phone: '',
};

/** Asks whether the number is ours, has it post to us, and begins to hand over. */
async function begin(session: CloudContext): Promise<void> {
  const { deps, request, credentials, sink } = session;
  const { phone_number_id: numberId, business_account_id: businessId } = credentials;
  const url = deps.callbackUrl(request.instanceId);
  try {
    const { whatsapp_business_account: ofAccount } = await readWebhooks(session);
    // Where the account has an address the app is subscribed already, and subscribing it again would remove that address.
    if (!ofAccount) await ask(session, { method: 'POST', path: `/${businessId}/subscribed_apps`, body: {} });
    await subscribe(session, url);
  } catch (err) {
    if (err instanceof GraphRefused && verdictOf(err.code).does === 'end')
      return void heed(session, err.code);
    const words = err instanceof GraphRefused ? err.message : 'the network could not be reached';
    return end(session, 'connection_lost', `the network does not post to ${url}: ${words}`);
  }
  if (session.phase === 'ended') return;
  session.phase = 'live';
  sink.connected();
  if (request.inbox) {
    session.handOver = startHandOver({
      ...{ inbox: request.inbox, sink, log: deps.log, instanceId: request.instanceId },
      own: () => ({
        ...{ phoneNumberId: numberId, businessAccountId: businessId, phone: credentials.phone },
        now: deps.clock.now(),
      }),
      onTold: (told) => note(session, told),
    });
  }
}

const address = z.string().optional().catch(undefined);
const configured = z.looseObject({
  webhook_configuration: z
    .looseObject({ phone_number: address, whatsapp_business_account: address })
    .catch({ phone_number: undefined, whatsapp_business_account: undefined }),
});

/** Where the network posts what is for the number, and what is for others of its business account. */
async function readWebhooks(session: CloudContext) {
  const path = `/${session.credentials.phone_number_id}?fields=webhook_configuration`;
  return configured.parse(await ask(session, { method: 'GET', path })).webhook_configuration;
}

/** Leaves a number alone that another instance has taken over meanwhile: the network posts there. */
async function unsubscribe(session: CloudContext): Promise<void> {
  const { deps, request } = session;
  const { phone_number: current } = await readWebhooks(session);
  if (current === deps.callbackUrl(request.instanceId)) await subscribe(session, '');
}

/** By number, so that several of one business account do not get each other's; an empty address ends it. */
async function subscribe(session: CloudContext, url: string): Promise<void> {
  const { phone_number_id: numberId, verify_token } = session.credentials;
  const body = { webhook_configuration: { override_callback_uri: url, verify_token } };
  await ask(session, { method: 'POST', path: `/${numberId}`, body });
}

/** What of a webhook concerns the session. */
function note(session: CloudContext, told: Told): void {
  if (told.kind === 'message' && !told.message.fromMe)
    session.lastReceived.set(told.message.chat, told.message.networkId);
  if (told.kind === 'restriction') restrict(session, told.restriction);
  if (told.kind === 'banned') end(session, 'banned');
  if (told.kind !== 'receipt') return;
  if (told.code !== undefined) heed(session, told.code);
  // It is delivered again. Quality has news of its own.
  else if ((session.restriction ?? session.request.restriction) !== 'quality_low') restrict(session, null);
}

function accessOf({ deps, credentials }: CloudContext) {
  return { graph: deps.graph, token: credentials.access_token, phoneNumberId: credentials.phone_number_id };
}
