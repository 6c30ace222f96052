/** One instance's session with the Cloud API: requests out, and what the network posted in. */
import {
  type NetworkSession,
  type OpenRequest,
  SendRefused,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';
import { GraphRefused } from '@posthorn/core/network/graph-api.ts';
import { ACTIONS, markRead } from './actions.ts';
import { credentialsShape } from './credentials.ts';
import { startHandOver } from './hand-over.ts';
import { downloadMedia } from './media.ts';
import type { FormerNumber, Told } from './read-webhook.ts';
import {
  noteQuality,
  noteReinstated,
  noteSent,
  recall,
  restrict,
  standsAgain,
  tell,
} from './restrictions.ts';
import { send } from './send.ts';
import {
  accessOf,
  type CloudContext,
  type CloudDeps,
  createContext,
  downloadErrorOf,
  end,
  heed,
  requireLive,
} from './session-context.ts';
import { endSubscription, noteNumber, subscribe } from './subscription.ts';
import { verdictOf } from './verdicts.ts';

const NO_CREDENTIALS =
  'this instance has no credentials yet; give it some: PUT /v1/instances/{id}/credentials';

/** Resolves at once; whether the credentials still hold arrives at the sink. */
export function openSession(deps: CloudDeps, request: OpenRequest, sink: SessionSink): NetworkSession {
  const given = credentialsShape.safeParse(request.credentials);
  const session = createContext(deps, request, sink, given.data ?? NOBODY);
  const begun = given.success ? begin(session) : Promise.resolve();
  if (!given.success) setImmediate(() => end(session, 'credentials_refused', NO_CREDENTIALS));
  return {
    send: (message) => send(session, message),
    recorded() {},
    // Typing would mark received messages as read, which nobody asked for; a user may ask for it by itself
    // (actions.ts).
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
      session.leaves = true;
      await begun;
      await endSubscription(session).catch((err) =>
        deps.log.debug({ err }, 'ending the subscription failed'),
      );
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
  let former: FormerNumber | undefined;
  try {
    const outcome = await subscribe(session);
    if (outcome === 'taken_over') return end(session, 'replaced');
    if (outcome === 'leaves') return;
    former = await noteNumber(session);
    await recall(session);
  } catch (err) {
    const verdict = err instanceof GraphRefused ? verdictOf(err.code, err.subcode) : undefined;
    if (verdict?.does === 'end') return heed(session, verdict);
    const words = err instanceof GraphRefused ? err.message : 'the network could not be reached';
    const url = deps.callbackUrl(request.instanceId);
    return end(session, 'connection_lost', `the network does not post to ${url}: ${words}`);
  }
  if (session.phase === 'ended') return;
  session.phase = 'live';
  sink.connected();
  const { blocked, isQualityLow } = session.restrictions;
  if (blocked !== null || isQualityLow) tell(session);
  if (request.inbox) {
    session.handOver = startHandOver({
      ...{ inbox: request.inbox, sink, log: deps.log, instanceId: request.instanceId },
      own: () => ({
        ...{ phoneNumberId: numberId, businessAccountId: businessId, phone: credentials.phone },
        ...{ now: deps.clock.now(), former },
      }),
      onTold: (told) => note(session, told),
    });
  }
}

/** Notes the part of a webhook that concerns the session. */
function note(session: CloudContext, told: Told): void {
  if (told.kind === 'message' && !told.message.fromMe && !told.isOfFormer)
    session.lastReceived.set(told.message.chat, told.message.networkId);
  if (told.kind === 'restriction') restrict(session, told.restriction, told.at);
  if (told.kind === 'quality') noteQuality(session, told);
  if (told.kind === 'reinstated') noteReinstated(session, told.at);
  if (told.kind === 'banned' && !standsAgain(session, told.at)) end(session, 'banned');
  if (told.kind !== 'receipt' || told.isOfFormer) return;
  const { code, isFree = false, receipt } = told;
  if (code !== undefined) heed(session, verdictOf(code), receipt.at);
  else if (receipt.kind === 'sent') noteSent(session, { at: receipt.at, isFree });
}
