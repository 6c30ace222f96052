import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type BillingClient,
  type Client,
  createBillingClient,
  createClient,
  createSession,
  PosthornError,
} from '@posthorn/sdk/index.ts';
import { codeIn } from '../../accounts/support/mailbox.ts';
import { waitFor } from '../../support/process.ts';
import type { ConsoleServer } from './console-server.ts';
import { PASSWORD } from './person.ts';

/** A company with one connected instance, made over the API: the start of a test of a page. */
export interface Company {
  client: Client;
  billing: BillingClient;
  email: string;
  instanceId: string;
  /** The phone of the account that the instance is paired with. */
  phone: string;
}

/** Messages are sent at once, however many. */
const SETTINGS = {
  humanize_enabled: false,
  anti_spam_guard_enabled: false,
  anti_spam_temperature_enabled: false,
};

export async function makeCompany(server: ConsoleServer): Promise<Company> {
  const id = randomBytes(4).toString('hex');
  const email = `owner-${id}@example.com`;
  const body = { company_name: `Padaria ${id}`, owner_name: 'Ana Souza', owner_email: email };
  await createClient({ baseUrl: server.url }).auth.register({ body: { ...body, password: PASSWORD } });
  const { client, billing } = await clientOf(server, email);
  const code = codeIn(await server.mailTo(email, /\d{6}/));
  await client.auth.verifyEmail({ body: { code } });
  const { id: instanceId } = await client.instances.create({ body: { name: 'Balcão' } });
  await client.instances.updateSettings({ instanceId, body: SETTINGS });
  await client.instances.connect({ instanceId });
  const phone = await pair(server, client, instanceId);
  while ((await client.instances.get({ instanceId })).state !== 'CONNECTED') await delay(50);
  return { client, billing, email, instanceId, phone };
}

/** A user of the API, with a session of their own. */
export async function clientOf(
  server: ConsoleServer,
  email: string,
  password = PASSWORD,
): Promise<Pick<Company, 'client' | 'billing'>> {
  const session = createSession({ baseUrl: server.url });
  await session.login({ email, password });
  return {
    client: createClient({ baseUrl: server.url, session }),
    billing: createBillingClient({ baseUrl: server.billingUrl, session }),
  };
}

/** Lets a new phone scan the code of an instance, once there is one. */
export async function pair(server: ConsoleServer, client: Client, instanceId: string): Promise<string> {
  const { qr } = await waitFor(() => client.instances.qr({ instanceId }, { retries: 0 }).catch(notYet));
  const phone = `5511${String(Date.now()).slice(-9)}`;
  await server.sandbox('/pair', { qr, phone });
  return phone;
}

function notYet(error: unknown): undefined {
  if (error instanceof PosthornError && [404, 409, 503].includes(error.status)) return undefined;
  throw error;
}
