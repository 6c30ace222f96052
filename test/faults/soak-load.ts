import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { jpeg } from '../media/samples.ts';
import type { SeededCompany } from '../support/seed.ts';
import type { System } from '../support/system.ts';
import type { ConnectedInstance } from './traffic.ts';

/** How far ahead sends are scheduled: longer than a killed part stays away. */
const AHEAD_MS = 40_000;
const RETRY_MS = 100;

/** The sends of a soak until it is stopped; each is repeated under its key until it is accepted. */
export interface SoakLoad {
  /** By instance, in the order in which the network must get them. */
  accepted: Map<string, string[]>;
  /** Since the last call: the time of each request that was answered at once, and the number of repeated ones. */
  takeLatencies(): { ms: number[]; repeated: number };
  /** Sends texts on an instance, `perSecond` of them, or as fast as they are answered. */
  texts(instance: ConnectedInstance, perSecond: number | null, signal: AbortSignal): Promise<void>;
  /** Sends pictures that were uploaded before. */
  pictures(instance: ConnectedInstance, perSecond: number, signal: AbortSignal): Promise<void>;
  /** Schedules texts that are due some seconds later. */
  scheduled(instance: ConnectedInstance, perSecond: number, signal: AbortSignal): Promise<void>;
}

export function createSoakLoad(system: System, company: SeededCompany): SoakLoad {
  const accepted = new Map<string, string[]>();
  const counts = new Map<string, number>();
  let latencies: number[] = [];
  let repeated = 0;
  let turn = 0;

  /** Tries one server after the other until one accepts. Throws at a refusal that a repeat cannot change. */
  async function post(path: string, body: object | (() => FormData)): Promise<Record<string, string>> {
    const key = randomUUID();
    for (let attempt = 0; ; attempt += 1) {
      system.stopping.throwIfAborted();
      const url = system.urls[turn++ % system.urls.length];
      const startedAt = performance.now();
      const isForm = typeof body === 'function';
      const answer = await fetch(url + path, {
        method: 'POST',
        headers: {
          'x-api-key': company.apiKey,
          ...(isForm ? {} : { 'content-type': 'application/json', 'idempotency-key': key }),
        },
        body: isForm ? body() : JSON.stringify(body),
        signal: AbortSignal.timeout(15_000),
      }).then(
        async (response) => ({ status: response.status, text: await response.text() }),
        (err: Error) => ({ status: 0, text: err.name }),
      );
      if (answer.status >= 200 && answer.status < 300) {
        if (attempt === 0) latencies.push(performance.now() - startedAt);
        else repeated += 1;
        return JSON.parse(answer.text);
      }
      const mayPass =
        answer.status === 0 ||
        answer.status >= 500 ||
        [408, 429].includes(answer.status) ||
        answer.text.includes('INSTANCE_NOT_CONNECTED');
      if (!mayPass) throw new Error(`${path}: ${answer.status} ${answer.text}`);
      await delay(RETRY_MS);
    }
  }

  /** Runs `work` at an even pace; it does not catch up after a slow run. */
  async function pace(perSecond: number | null, signal: AbortSignal, work: () => Promise<void>) {
    for (let dueAt = performance.now(); !signal.aborted; ) {
      await work();
      if (perSecond === null) continue;
      dueAt = Math.max(dueAt + 1_000 / perSecond, performance.now());
      await delay(Math.max(0, dueAt - performance.now()));
    }
  }

  /**
   * Another text each time, to somebody who got at most one from this instance: the guard, which is on, lets two pass.
   */
  function nextText(instance: ConnectedInstance): { to: string; text: string } {
    const nth = counts.get(instance.id) ?? 0;
    counts.set(instance.id, nth + 1);
    const order = Number(instance.phone.slice(-2)) * 1_000_000 + Math.floor(nth / 2);
    return { to: `5531${String(order).padStart(9, '0')}`, text: `message ${nth}` };
  }

  function took(instance: ConnectedInstance, id: string): void {
    const ids = accepted.get(instance.id);
    if (ids) ids.push(id);
    else accepted.set(instance.id, [id]);
  }

  const pathOf = (instance: ConnectedInstance) => `/v1/instances/${instance.id}`;
  return {
    accepted,
    takeLatencies() {
      const taken = { ms: latencies, repeated };
      latencies = [];
      repeated = 0;
      return taken;
    },
    texts: (instance, perSecond, signal) =>
      pace(perSecond, signal, async () => {
        const { message_id } = await post(`${pathOf(instance)}/messages/text`, nextText(instance));
        took(instance, message_id!);
      }),
    async pictures(instance, perSecond, signal) {
      const picture = await jpeg();
      await pace(perSecond, signal, async () => {
        // Equal pictures would be stored once.
        const file = new Blob([new Uint8Array(picture), randomBytes(16)], { type: 'image/jpeg' });
        const { media_id } = await post(`${pathOf(instance)}/media`, () => {
          const form = new FormData();
          form.append('file', file, 'picture.jpg');
          return form;
        });
        const { to, text } = nextText(instance);
        const { message_id } = await post(`${pathOf(instance)}/messages/image`, {
          to,
          media_id,
          caption: text,
        });
        took(instance, message_id!);
      });
    },
    scheduled: (instance, perSecond, signal) =>
      pace(perSecond, signal, async () => {
        const body = nextText(instance);
        const send_at = new Date(Date.now() + AHEAD_MS).toISOString();
        const { id } = await post(`${pathOf(instance)}/messages/scheduled`, { type: 'text', send_at, body });
        took(instance, id!);
      }),
  };
}
