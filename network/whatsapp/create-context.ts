/** Makes the parts of a session. */
import { type OpenRequest, SendUnavailable, type SessionSink } from '@posthorn/core/network/driver.ts';
import { createAddressing } from './addressing.ts';
import { createAnswers } from './answers.ts';
import { createCachedKeys } from './cached-keys.ts';
import { createChatTimers } from './chat-timers.ts';
import { createFetchRoute } from './fetch-route.ts';
import { createGroupCache } from './group-cache.ts';
import { readCreds } from './keys.ts';
import { loadLibrary } from './library.ts';
import { createLidQuestions } from './lid-questions.ts';
import { MappingCache } from './mapping-cache.ts';
import { BATCH_MAX, createMessageLines } from './message-lines.ts';
import { createPatience } from './patience.ts';
import { pausableConnectionOf } from './pausable-connection.ts';
import { createRoute } from './proxy.ts';
import { createPump } from './pump.ts';
import { recordMessages } from './session-arrivals.ts';
import { askGroup, type SessionDeps, type WhatsAppContext } from './session-context.ts';
import { fail } from './session-end.ts';
import { recordReceipts } from './session-receipts.ts';
import { createSharedKeys } from './shared-keys.ts';
import { createStanzas } from './stanzas.ts';
import { createWithheld } from './withheld.ts';

export async function createContext(
  deps: SessionDeps,
  request: OpenRequest,
  sink: SessionSink,
): Promise<WhatsAppContext | null> {
  const library = await loadLibrary().catch((cause: Error) => {
    throw new SendUnavailable(cause.message, { cause });
  });
  let agent: WhatsAppContext['agent'];
  try {
    agent = createRoute({ proxy: request.proxy, ca: deps.ca, allowPrivate: deps.allowPrivateProxies });
  } catch (cause) {
    throw new SendUnavailable((cause as Error).message, { cause });
  }
  const isPaired = request.credentials !== null;
  // Keys left by an earlier pairing belong to another account.
  if (!isPaired) await request.keys.clear();
  const creds = isPaired ? await readCreds(request.keys) : library.initAuthCreds();
  if (!creds) return null;
  const logFailure = (what: string) => (err: unknown) =>
    deps.log.warn({ err, instance_id: request.instanceId }, `recording ${what} failed; retrying`);
  const nowMs = () => deps.clock.now().getTime();
  const keys = createSharedKeys(createCachedKeys(request.keys), (err) => fail(session, err));
  const [arrivals, receipts] = [createPump(logFailure('arrivals')), createPump(logFailure('receipts'))];
  const session: WhatsAppContext = {
    ...{ deps, library, sink, creds, agent, isPaired, arrivals, receipts },
    request: { ...request, keys },
    intake: deps.intake.open(pausableConnectionOf(() => session)),
    fetchRoute: createFetchRoute({ agent, proxy: request.proxy, ca: deps.ca }),
    connection: null,
    phase: 'opening',
    isStateFetched: false,
    earlyPresence: null,
    qrsShown: 0,
    answers: createAnswers({
      timeoutMs: deps.sendTimeoutMs,
      patience: createPatience(deps),
      now: () => deps.clock.now(),
    }),
    stanzas: createStanzas(keys),
    addressing: createAddressing(keys, nowMs),
    timers: createChatTimers(keys),
    sending: { last: Promise.resolve(), breaks: 0 },
    messages: createMessageLines(arrivals, (some) => recordMessages(session, some), logFailure('arrivals')),
    takeReceipt: receipts.inBatches((receipts) => recordReceipts(session, receipts), BATCH_MAX),
    revision: 0,
    accounts: new MappingCache(),
    reportedLids: new Set(),
    lids: createLidQuestions(nowMs),
    audience: null,
    groups: createGroupCache((jid) => askGroup(session, jid), nowMs),
    timeLock: { isActive: false, askedAtMs: Number.NEGATIVE_INFINITY, asking: null, timer: undefined },
    withheld: createWithheld(keys, nowMs),
    look: undefined,
    ...{ silent: new Map(), callers: new Map() },
    endReported: Promise.withResolvers(),
  };
  return session;
}
