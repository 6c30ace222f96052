import { setTimeout as delay } from 'node:timers/promises';
import type { Client, EventPattern, ListedEvent } from '@posthorn/sdk/index.ts';
import { defineCommand, integer, oneOf, text } from '../../command.ts';
import { CommandError, EXIT, UsageError } from '../../fault.ts';
import { textOrStdin } from '../../stdin.ts';
import { shownEvent } from '../events/shown.ts';
import { TRIGGERS, WITH_TEXT } from './triggers.ts';

const OTHER_PHONE = '5511999990001';
/** Longer than a send that waits behind others and imitates typing. */
const WAIT_MS = 45_000;
const FIRST_PAUSE_MS = 250;
/** Requests count against the limit of the company. */
const LAST_PAUSE_MS = 2_000;

const EVENTS = [...Object.keys(TRIGGERS), 'webhook.test'];

export const trigger = defineCommand({
  name: 'trigger',
  summary: 'Make an event happen on the sandbox network, and show it',
  details: `A virtual phone really writes, reads or calls, so webhooks and streams get the event like any other.
Without an event, the command lists those that it can trigger.`,
  args: {
    event: oneOf('event', EVENTS, 'e.g. message.received; without one, lists them'),
    text: text('text', 'the text that the phone writes; - reads it from a pipe'),
  },
  flags: {
    phone: text('phone', `the virtual phone on the other side, default ${OTHER_PHONE}`),
    webhook: integer('id', 'with webhook.test: the webhook to test, default every enabled one'),
  },
  async run(context, { event, text: given, phone: other = OTHER_PHONE, webhook }) {
    const { out, signal } = context;
    if (event === undefined) return out.show({ data: EVENTS }, EVENTS.join('\n'));
    if (given !== undefined && !WITH_TEXT.includes(event))
      throw new UsageError(`${event} takes no text; these do: ${WITH_TEXT.join(', ')}`);
    const written = given === undefined ? undefined : await textOrStdin(context, given);
    const client = context.client();
    const [newest] = (await client.events.list({ query: { limit: 1 } })).data;
    if (event === 'webhook.test') await testWebhooks(client, webhook);
    else {
      if (webhook !== undefined) throw new UsageError('--webhook goes with webhook.test');
      const instanceId = await context.instanceId();
      const { driver, phone: own, state } = await client.instances.get({ instanceId });
      if (driver !== 'sandbox')
        throw new UsageError(
          `the instance is on the network ${driver}: events are made on the sandbox alone`,
        );
      if (own === null || state !== 'CONNECTED')
        throw new CommandError(`the instance is ${state}: msgctl instances connect --wait`);
      await TRIGGERS[event]?.({ client, sandbox: context.sandbox(), instanceId, own, other, text: written });
    }
    const happened = await waitForEvent({ client, signal }, event, newest?.cursor);
    out.show(happened, shownEvent(happened));
  },
});

async function testWebhooks(client: Client, webhookId: number | undefined): Promise<void> {
  if (webhookId !== undefined) return void (await client.webhooks.test({ webhookId }));
  const { data } = await client.webhooks.list({ query: { limit: 200 } });
  const enabled = data.filter((each) => each.enabled);
  if (enabled.length === 0) throw new CommandError('there is no webhook that is enabled');
  for (const { id } of enabled) await client.webhooks.test({ webhookId: id });
}

/** The first event of this type after the cursor. CommandError when none comes. */
async function waitForEvent(
  { client, signal }: { client: Client; signal: AbortSignal },
  type: string,
  after: string | undefined,
): Promise<ListedEvent> {
  const deadline = performance.now() + WAIT_MS;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 1.5)) {
    const types = [type as EventPattern];
    const { data } = await client.events.list({ query: { types, after, limit: 10 } }, { signal });
    const [found] = data;
    if (found) return found;
    if (performance.now() + pauseMs > deadline)
      throw new CommandError(`the action was done, but no ${type} came within ${WAIT_MS / 1000} s`, {
        exitCode: EXIT.later,
      });
    await delay(pauseMs, undefined, { signal });
  }
}
