import { type Client, type DeliveryLog, iterate, type Message } from '@posthorn/sdk/index.ts';
import { useQuery } from '@tanstack/react-query';
import { useClient } from '../../api/api-context.ts';

/** Polling covers status changes that no event reports. */
const LOOK_EVERY_MS = 10_000;
/** The event log has no filter for one message, so the newest events are searched. */
const EVENTS_LOOKED_AT = 200;

export interface MessageLife {
  message: Message;
  /** Every webhook attempt of its events, oldest first. */
  attempts: readonly DeliveryLog[];
  /** True if older events of the message may exist beyond those searched. */
  isCut: boolean;
}

/** A message with everything that happened to it. */
export function useMessage(instanceId: string, messageId: string) {
  const client = useClient();
  return useQuery<MessageLife>({
    queryKey: ['messages', instanceId, messageId],
    queryFn: async ({ signal }) => {
      const message = await client.messages.get({ instanceId, messageId }, { signal });
      const { events, isCut } = await eventsOf(client, message, signal);
      const logs = await Promise.all(
        events.map((eventId) =>
          client.webhooks.eventDeliveries({ query: { event_id: eventId } }, { signal }),
        ),
      );
      const attempts = logs.flatMap((log) => log.logs);
      attempts.sort((a, b) => a.created_at.localeCompare(b.created_at));
      return { message, attempts, isCut };
    },
    refetchInterval: ({ state }) => (state.data?.message.status === 'queued' ? LOOK_EVERY_MS : false),
  });
}

async function eventsOf(client: Client, message: Message, signal: AbortSignal) {
  const events: string[] = [];
  let looked = 0;
  const query = { instance_id: message.instance_id, limit: EVENTS_LOOKED_AT };
  for await (const event of iterate(client.events.list, { query }, { signal })) {
    if (event.created_at < message.created_at) return { events, isCut: false };
    const ids = event.data.message_ids;
    if (Array.isArray(ids) && ids.includes(message.message_id)) events.push(event.event_id);
    looked += 1;
    if (looked === EVENTS_LOOKED_AT) return { events, isCut: true };
  }
  return { events, isCut: false };
}
