import { apiError } from '@posthorn/contract/api-error.ts';
import type { events } from '@posthorn/contract/messaging/events.ts';
import { hiddenFrom } from '@posthorn/core/events/event-filter.ts';
import { listEvents } from '@posthorn/core/events/list-events.ts';
import { readEvent } from '@posthorn/core/events/read-events.ts';
import type { Tickets } from '@posthorn/core/events/ticket.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import { type LiveStreamDeps, requireOwnInstance } from '../http/event-stream.ts';
import type { Handlers } from '../http/handler.ts';
import type { LiveConnections } from '../http/live-connections.ts';
import { openEventStream } from '../http/sse.ts';
import type { EventSockets } from '../http/websocket.ts';

export interface EventsRoutesDeps extends LiveStreamDeps {
  db: Db;
  clock: Clock;
  connections: LiveConnections;
  sockets: EventSockets;
  tickets: Tickets;
}

/** The event log: list, one event, the live connections and the tickets for them (EVT-13 to EVT-16). */
export function eventsRoutes(deps: EventsRoutesDeps): Handlers<typeof events> {
  return {
    async stream(input) {
      await openEventStream(deps, input);
      return undefined;
    },
    async ws(input) {
      await deps.sockets.accept(input);
      return undefined;
    },
    async list({ principal, query }) {
      const { companyId } = principal;
      if (query.instance_id !== undefined) await requireOwnInstance(deps.db, companyId, query.instance_id);
      const body = await listEvents(deps, {
        ...query,
        companyId,
        instanceId: query.instance_id ?? null,
        types: query.types ?? null,
        hidden: hiddenFrom(principal),
      });
      return { status: 200, body };
    },
    async get({ principal, params }) {
      const { companyId } = principal;
      const hidden = hiddenFrom(principal);
      const body = await readEvent(deps.db, { companyId, eventId: params.eventId, hidden });
      if (body === null) throw apiError('EVENT_NOT_FOUND');
      return { status: 200, body: JSON.parse(body) };
    },
    async ticket({ principal }) {
      return { status: 201, body: await deps.tickets.issue(principal) };
    },
  };
}
