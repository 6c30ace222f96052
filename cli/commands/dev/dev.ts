import { randomBytes } from 'node:crypto';
import type { Client, Instance } from '@posthorn/sdk/index.ts';
import { defineCommand, text } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError, UsageError } from '../../fault.ts';
import { tailFrom } from '../events/tail-from.ts';
import { eventTypes } from '../events/types.ts';
import { waitUntilConnected } from '../instances/wait-until-connected.ts';
import { freshPhone, scan } from '../scan.ts';
import { listen } from '../webhooks/listen.ts';

const INSTANCE = 'dev';
/** If an instance does not pair by itself within this time, the command pairs it. */
const AUTO_PAIR_MS = 3_000;

export const dev = defineCommand({
  name: 'dev',
  summary: 'Set up a service, an account and an instance for development, and print events until Ctrl-C',
  details:
    'Uses the service at --url, or starts one if called in a checkout. Registers unless the profile has a key, creates an instance, and pairs it with a virtual phone of the sandbox network. Then prints events, or forwards them with --forward-to.',
  flags: {
    forwardTo: text('url', 'post each event to this address, like webhooks listen --forward-to'),
    types: eventTypes('names or patterns, default all'),
  },
  async run(context, { forwardTo, types }) {
    const { openService } = await import('./start-service.ts');
    const service = await openService(context);
    try {
      await registerOnce(context);
      const client = context.client();
      const [newest] = (await client.events.list({ query: { limit: 1 } })).data;
      const instance = await connectedInstance(context, client);
      // The output starts after the newest event so far, so it includes events from before the stream opens.
      const after = newest?.cursor ?? (await firstCursor(client));
      context.profile.update(context.url, { instance_id: instance.id });
      tell(context, instance);
      if (forwardTo === undefined) return await tailFrom(context, client, { types, after });
      const flags = { secret: [], header: [], insecure: false, printSecret: false, register: false };
      await listen.run(context, { ...flags, forwardTo, events: types, cursor: after });
    } catch (error) {
      if (!context.signal.aborted) throw error;
    } finally {
      await service.stop();
    }
  },
});

/**
 * Uses the credentials of the environment or the profile; without any, it registers a company and keeps it in the
 * profile.
 */
async function registerOnce(context: Context): Promise<void> {
  try {
    context.client();
    return;
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
  }
  const email = `dev-${randomBytes(4).toString('hex')}@example.com`;
  const made = await context.anonymous().auth.quickRegister({ body: { email } });
  const account = { api_key: made.api_key, company_id: made.company_id, email: made.email };
  context.profile.update(context.url, account, { isDefault: true });
  context.out.note(`registered ${email}, kept in the profile ${context.profile.name}`);
}

async function connectedInstance(context: Context, client: Client): Promise<Instance> {
  const { signal } = context;
  const { data } = await client.instances.list({ query: { limit: 200 } });
  const connected = data.find(({ state, driver }) => state === 'CONNECTED' && driver === 'sandbox');
  if (connected) return connected;
  const found = data.find(({ name }) => name === INSTANCE);
  const { id: instanceId, driver } = found ?? (await client.instances.create({ body: { name: INSTANCE } }));
  if (driver !== 'sandbox')
    throw new CommandError(`the driver is ${driver}: pair an instance with msgctl instances create --wait`);
  await client.instances.connect({ instanceId });
  const ready = await waitUntilConnected({ client, signal }, instanceId, AUTO_PAIR_MS).catch(() => null);
  if (ready) return ready;
  // The instance may still pair by itself; the wait below shows whether it is paired.
  await scan(context, client, instanceId, freshPhone()).catch(() => undefined);
  return waitUntilConnected({ client, signal }, instanceId);
}

/** The cursor of the first event of a company that had none a moment ago. */
async function firstCursor(client: Client): Promise<string | undefined> {
  const { data } = await client.events.list({ query: { limit: 200 } });
  return data.at(-1)?.cursor;
}

function tell({ out, url, profile }: Context, { id, name, phone }: Instance): void {
  out.note(
    [
      `service   ${url}, reference at ${url}/docs`,
      `profile   ${profile.name} (${profile.path})`,
      `instance  ${name} ${id}, phone ${phone}`,
      'try       msgctl trigger message.received',
      `          msgctl send text --to 5511999990000 --text "Hello" --wait delivered`,
    ].join('\n'),
  );
}
