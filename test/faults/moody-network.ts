import { setTimeout as delay } from 'node:timers/promises';
import {
  type DisconnectReason,
  type NetworkDriver,
  type NetworkSession,
  type OpenRequest,
  SendUnavailable,
  type SessionSink,
} from '@posthorn/core/network/driver.ts';

/** The network's data about one instance. */
interface Account {
  /** The number of the valid pairing; null after a logout. */
  pairing: number | null;
  pairings: number;
  isBanned: boolean;
  /** The open sessions, and the function that ends each, e.g. when a newer one logs in. */
  open: Map<object, (reason: DisconnectReason) => void>;
  /** The highest epoch that has opened it. */
  epoch: number;
  connected: number;
  received: string[];
  /** The history of the account, to explain a failure. */
  story: string[];
}

/** A network that cuts, fails, bans, logs out and restricts at random, until it is calm. */
export interface MoodyNetwork {
  driver: NetworkDriver;
  of(instanceId: string): Account;
  calm(): void;
}

const ANSWER_MS = 100;
const MOOD_MS = 1_500;
const MOODS: readonly (DisconnectReason | 'restricted')[] = [
  'connection_lost',
  'connection_lost',
  'connection_lost',
  'failed',
  'restricted',
  'logged_out',
  'banned',
];

export function createMoodyNetwork(): MoodyNetwork {
  const accounts = new Map<string, Account>();
  let isCalm = false;

  function of(instanceId: string): Account {
    const known = accounts.get(instanceId);
    if (known) return known;
    const account: Account = {
      ...{ pairing: null, pairings: 0, isBanned: false, connected: 0, epoch: -1 },
      ...{ open: new Map(), received: [], story: [] },
    };
    accounts.set(instanceId, account);
    return account;
  }

  function openOn(account: Account, { credentials, epoch }: OpenRequest, sink: SessionSink): NetworkSession {
    const me = { isConnected: false };
    const isOpen = () => account.open.has(me);
    account.story.push(`opened in ${epoch}`);
    // A login ends earlier sessions; a login by a worker that has lost the instance is refused.
    const isStale = epoch < account.epoch;
    if (!isStale) for (const endOther of account.open.values()) endOther('replaced');
    account.open.set(me, end);
    account.epoch = Math.max(account.epoch, epoch);

    function leave(): void {
      if (account.open.delete(me) && me.isConnected) account.connected -= 1;
    }
    function end(reason: DisconnectReason): void {
      if (!isOpen()) return;
      leave();
      account.story.push(reason);
      if (reason === 'logged_out') account.pairing = null;
      if (reason === 'banned') account.isBanned = true;
      sink.disconnected(reason, reason === 'failed' ? 'the network has its moods' : undefined);
    }
    async function pair(): Promise<void> {
      sink.qr(`qr ${Math.random()}`, new Date(Date.now() + 60_000));
      await delay(Math.random() * ANSWER_MS);
      const number = account.pairings + 1;
      while (isOpen()) {
        const phone = '5511900000000';
        const identity = { credentials: { number }, phone, jid: `${phone}@s.whatsapp.net`, pushName: 'P' };
        const isStored = await sink.paired(identity).then(
          () => true,
          () => false,
        );
        if (!isStored) await delay(ANSWER_MS);
        else {
          Object.assign(account, { pairings: number, pairing: number, isBanned: false });
          return connect();
        }
      }
    }
    function connect(): void {
      if (!isOpen()) return;
      me.isConnected = true;
      account.connected += 1;
      account.story.push('connected');
      sink.connected();
      void haveMoods();
    }
    async function haveMoods(): Promise<void> {
      await delay(Math.random() * MOOD_MS);
      if (isCalm || !isOpen()) return;
      const mood = MOODS[Math.floor(Math.random() * MOODS.length)]!;
      if (mood !== 'restricted') return end(mood);
      sink.restricted(Math.random() < 0.5 ? 'new_chats_limited' : null);
      await haveMoods();
    }
    async function answer(): Promise<void> {
      await delay(Math.random() * ANSWER_MS);
      if (!isOpen()) return;
      if (isStale) return end('replaced');
      if (!isCalm && Math.random() < 0.2) return end(Math.random() < 0.5 ? 'connection_lost' : 'failed');
      if (credentials === null) return pair();
      if (account.isBanned) return end('banned');
      if ((credentials as { number: number }).number !== account.pairing) return end('logged_out');
      connect();
    }

    void answer();
    return {
      async close() {
        account.story.push('closed');
        leave();
      },
      async logout() {
        setImmediate(() => end('logged_out'));
      },
      async send({ networkId }: { networkId: string }) {
        if (!isOpen() || !me.isConnected) throw new SendUnavailable('the session has ended');
        account.received.push(networkId);
        return { at: new Date() };
      },
      recorded: () => undefined,
      typing: async () => undefined,
      act: async () => ({}),
    } as unknown as NetworkSession;
  }

  return {
    of,
    calm() {
      isCalm = true;
    },
    driver: {
      // The network of seeded instances, because a worker opens an instance only on its own network.
      name: 'sandbox',
      dedupes: true,
      window: 1,
      can: new Set(),
      open: async (request, sink) => openOn(of(request.instanceId), request, sink),
    },
  };
}
