import { z } from 'zod/v4';
import { fetch } from '../platform/http/fetch.ts';

/** Questions of the playground to the sandbox network, by its control API. */
export interface SandboxPhones {
  /** Whether an instance is paired with this number. Rejects when the network cannot be asked. */
  isPaired(phone: string): Promise<boolean>;
  /** The message that this phone shows under a network id; null when it shows none, or cannot be asked. */
  shown(phone: string, networkId: string): Promise<Record<string, unknown> | null>;
}

const ASK_MS = 3_000;
/** A user sends fewer than these to a phone in two days. */
const SHOWN_MAX = 200;

const phoneAnswer = z.object({ instance: z.string().nullable() });
const messagesAnswer = z.object({ messages: z.array(z.looseObject({ id: z.string() })) });

/** `driverUrl` is where the driver reaches the sandbox; its control API is on the same port. */
export function createSandboxPhones(driverUrl: string): SandboxPhones {
  const base = new URL('/', driverUrl.replace(/^ws/, 'http'));
  /** Null for a phone that is not there. */
  async function ask(path: string): Promise<unknown> {
    const response = await fetch(new URL(path, base), { signal: AbortSignal.timeout(ASK_MS) });
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(`the sandbox answered ${response.status}`);
    return response.json();
  }
  return {
    async isPaired(phone) {
      const answer = await ask(`/phones/${phone}`);
      return answer !== null && phoneAnswer.parse(answer).instance !== null;
    },
    async shown(phone, networkId) {
      const answer = await ask(`/phones/${phone}/messages?limit=${SHOWN_MAX}`).catch(() => null);
      const read = messagesAnswer.safeParse(answer);
      return read.data?.messages.find(({ id }) => id === networkId) ?? null;
    },
  };
}
