import { type Client, type EventPattern, type StreamedEvent, signWebhook } from '@posthorn/sdk/index.ts';
import type { Context } from '../../../context.ts';
import { fitLine, printable } from '../../../format.ts';
import { shownEvent } from '../../events/shown.ts';
import { deliver, type Target } from './deliver.ts';
import { createRawBodies } from './raw-bodies.ts';

export interface Forwarding {
  target: Target;
  /** Each makes a signature; there are two while one is being replaced. */
  secrets: readonly string[];
  /** Names or patterns; empty for all. */
  types: readonly string[];
  /** Forwards the events of this webhook, in place of those that `types` names. */
  webhookId: number | undefined;
  /** Begins after this event; without it, with new events. */
  cursor: string | undefined;
  /** Ends after this many events; null for never. */
  count: number | null;
}

interface Selection {
  types: readonly string[];
  instanceId: string | undefined;
  headers: Readonly<Record<string, string>>;
  fits(event: StreamedEvent): boolean;
}

/** Reads the event stream and posts each event to the target, in order, one after the other, until Ctrl-C. */
export async function forwardEvents(context: Context, forwarding: Forwarding): Promise<void> {
  const { out, signal } = context;
  const bodies = createRawBodies();
  const client = context.client({ fetch: bodies.fetch });
  const selection = await select(context, client, forwarding);
  const target = { ...forwarding.target, headers: { ...selection.headers, ...forwarding.target.headers } };
  let cursor = forwarding.cursor;
  let left = forwarding.count ?? Number.POSITIVE_INFINITY;
  try {
    for await (const event of openStream(context, client, selection, cursor, target.url)) {
      const body = bodies.take(event.event_id);
      if (selection.fits(event)) {
        const sign = () => signWebhook(body, forwarding.secrets, { id: event.event_id });
        const onSilence = (why: string) =>
          out.note(`${shownUrl(target.url)} does not answer (${why}), trying until it does`);
        const { status, attempts, durationMs } = await deliver({ signal, onSilence }, target, { body, sign });
        const { event_id, type } = event;
        const tries = attempts > 1 ? `  after ${attempts} tries` : '';
        out.item(
          { event_id, type, cursor: event.cursor, status, attempts, duration_ms: durationMs },
          out.columns === null
            ? `${status}  ${printable(type)}  ${event_id}  ${durationMs} ms${tries}`
            : fitLine(`${status}  ${durationMs} ms${tries}  ${shownEvent(event, out.columns)}`, out.columns),
        );
        left -= 1;
      }
      cursor = event.cursor;
      if (left === 0) return;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    if (cursor !== undefined) out.note(`to go on after the last event: --cursor ${cursor}`);
  }
}

/** Selects the events to forward: those of a webhook, or those that the flags name. */
async function select(context: Context, client: Client, forwarding: Forwarding): Promise<Selection> {
  const { webhookId, types } = forwarding;
  if (webhookId === undefined) {
    return { types, instanceId: await context.namedInstanceId(), headers: {}, fits: () => true };
  }
  const webhook = await client.webhooks.get({ webhookId });
  return {
    // A webhook gets its test events whatever it subscribes to.
    types: webhook.events.includes('*') ? [] : [...new Set([...webhook.events, 'webhook.test'])],
    instanceId: webhook.instance_id ?? undefined,
    headers: webhook.headers,
    fits: ({ type, data }) =>
      type !== 'webhook.test' || (data as { webhook_id?: unknown }).webhook_id === webhookId,
  };
}

function openStream(
  { out, signal }: Context,
  client: Client,
  { types, instanceId }: Selection,
  cursor: string | undefined,
  url: URL,
): AsyncGenerator<StreamedEvent> {
  let wasOpen = false;
  return client.events.stream({
    instanceId,
    types: types.length > 0 ? (types as EventPattern[]) : undefined,
    lastEventId: cursor,
    signal,
    onOpen() {
      out.note(wasOpen ? 'connected again' : `forwarding to ${shownUrl(url)}`);
      wasOpen = true;
    },
    onReset: ({ reason }) => out.note(`events were lost to this reader: ${reason}`),
    onReconnect({ error }) {
      if (wasOpen && error) out.note(`connection lost (${error.code}), trying again`);
    },
  });
}

/** Without the user and the password that it may hold. */
function shownUrl(url: URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  return shown.href;
}
