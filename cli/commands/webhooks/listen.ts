import type { Client, EventPattern } from '@posthorn/sdk/index.ts';
import { defineCommand, integer, many, text, toggle } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError, describeFault, UsageError } from '../../fault.ts';
import { eventTypes } from '../events/types.ts';
import { checkSecret, newSecret } from './forward/sign.ts';
import { parseHeaders } from './header.ts';

export const listen = defineCommand({
  name: 'webhooks listen',
  summary: 'Forward events to your own address, or receive deliveries here, until Ctrl-C',
  details: `With --forward-to, it reads the event stream and posts each event with the bytes, headers and signature of a webhook. The
service need not reach the address, so it works behind NAT. It signs with --secret, or with a stored secret that
--print-secret shows. After a broken connection or a restart of the service it forwards the missed events. It retries an
address that does not answer until it does.

Without --forward-to, it receives deliveries on a port, prints them, and checks their signatures with --secret. With
--register it creates a webhook to itself and deletes it at the end. That works if the service may deliver to this machine,
as in standalone.`,
  flags: {
    forwardTo: text('url', 'post events to this address, e.g. http://127.0.0.1:3000/hooks'),
    secret: many('secret', 'whsec_...; give both while a secret is being replaced'),
    events: eventTypes('names or patterns, default all; otherwise with --register'),
    count: integer('n', 'end after so many'),
    webhook: integer('id', 'with --forward-to: the events of this webhook, with its headers'),
    header: many('"Name: value"', 'with --forward-to: a further header; may be repeated'),
    cursor: text('cursor', 'with --forward-to: begin after this event'),
    insecure: toggle('with --forward-to: take any certificate'),
    printSecret: toggle('print the secret that --forward-to signs with, and end'),
    port: integer('port', 'port to listen on, default 9000', { min: 0, max: 65_535 }),
    host: text('address', 'address to listen on, default 127.0.0.1'),
    register: toggle('create the webhook, and delete it at the end'),
    status: integer('code', 'answer with this status, to see retries', { min: 200, max: 599 }),
  },
  async run(context, input) {
    const { forwardTo, secret, events, count, webhook, header, cursor, insecure, printSecret } = input;
    const { port, host, register, status } = input;
    if (printSecret) {
      const own = secretOf(context);
      return context.out.show({ secret: own }, own);
    }
    const forwardOnly = { '--webhook': webhook, '--header': header[0], '--cursor': cursor };
    if (forwardTo === undefined) {
      refuseAny(forwardOnly, 'goes with --forward-to');
      return receive(context, { port, host, register, status, secret, events, count });
    }
    refuseAny({ '--port': port, '--host': host, '--status': status }, 'does not go with --forward-to');
    if (register) throw new UsageError('give either --register or --forward-to');
    if (webhook !== undefined && events.length > 0) throw new UsageError('give either --webhook or --events');
    const secrets = secret.map(checkSecret);
    if (secrets.length === 0) {
      secrets.push(secretOf(context));
      context.out.note(`signed with ${secrets[0]}`);
    }
    // It loads the HTTP module of Node.js, which no other command uses.
    const { forwardEvents } = await import('./forward/forward-events.ts');
    await forwardEvents(context, {
      target: { url: parseTarget(forwardTo), headers: parseHeaders(header) ?? {}, isInsecure: insecure },
      secrets,
      types: events,
      webhookId: webhook,
      cursor,
      count: count ?? null,
    });
  },
});

/** How long a call may take that Ctrl-C must not cut. */
const UNCUT_CALL_MS = 10_000;

interface Receiving {
  port: number | undefined;
  host: string | undefined;
  register: boolean;
  status: number | undefined;
  secret: readonly string[];
  events: readonly EventPattern[];
  count: number | undefined;
}

async function receive(context: Context, receiving: Receiving): Promise<void> {
  const { port = 9000, host = '127.0.0.1', register, status = 200, secret, events, count } = receiving;
  const { out, signal } = context;
  const secrets = [...secret];
  const { startReceiver } = await import('./receiver.ts');
  const receiver = await startReceiver({ out }, { host, port, secrets, status, count: count ?? null });
  let webhookId: number | null = null;
  try {
    if (register) {
      const instanceId = await context.namedInstanceId();
      const body = {
        url: receiver.url,
        ...(events.length > 0 ? { events } : {}),
        instance_id: instanceId,
      };
      const made = await create(context, body);
      webhookId = made.id;
      secrets.push(made.secret);
    }
    out.note(`listening on ${receiver.url}${secrets.length > 0 ? '' : ', signatures are not checked'}`);
    await receiver.done(signal);
  } finally {
    await receiver.close();
    if (webhookId !== null) await remove(context, webhookId);
  }
}

type NewWebhook = Parameters<Client['webhooks']['create']>[0]['body'];

/** Ctrl-C leaves this call some time: a webhook that was perhaps created could not be deleted then. */
async function create(context: Context, body: NewWebhook): Promise<{ id: number; secret: string }> {
  const { signal } = context;
  signal.throwIfAborted();
  const late = new AbortController();
  const leave = () => void setTimeout(() => late.abort(), UNCUT_CALL_MS);
  signal.addEventListener('abort', leave, { once: true });
  try {
    return await context.client().webhooks.create({ body }, { signal: late.signal });
  } catch (error) {
    if (!late.signal.aborted) throw error;
    const message = `the webhook may have been created, to ${body.url}: msgctl webhooks list`;
    throw new CommandError(message, { fields: { url: body.url } });
  }
}

async function remove(context: Context, webhookId: number): Promise<void> {
  try {
    await context.client().webhooks.remove({ webhookId }, { signal: undefined, deadlineMs: UNCUT_CALL_MS });
  } catch (error) {
    const { line, exitCode } = describeFault(error);
    const message = `webhook ${webhookId} is still there (${line}): msgctl webhooks delete ${webhookId}`;
    throw new CommandError(message, { exitCode, fields: { webhook_id: webhookId } });
  }
}

/** Made once for each service and kept, so that a receiver has to be configured only once. */
function secretOf({ profile, url }: Context): string {
  const kept = profile.account(url).forward_secret;
  if (kept) return kept;
  const made = newSecret();
  profile.update(url, { forward_secret: made });
  return made;
}

/** An address, or a port of this machine. */
function parseTarget(given: string): URL {
  const written = /^\d{1,5}$/.test(given) ? `http://127.0.0.1:${given}/` : given;
  if (/^https?:\/\//.test(written) && URL.canParse(written)) return new URL(written);
  // It is not repeated: it may hold a password.
  throw new UsageError('--forward-to must be an http or https URL, or a port');
}

function refuseAny(flags: Readonly<Record<string, unknown>>, why: string): void {
  const given = Object.keys(flags).find((name) => flags[name] !== undefined);
  if (given) throw new UsageError(`${given} ${why}`);
}
