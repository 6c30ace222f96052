import { newId } from '../platform/ids.ts';
import type { NewEvent } from './insert-events.ts';

/** The company and instance that an event is about, and the request that it traces back to. */
export interface EventSubject {
  companyId: number;
  instanceId: string | null;
  traceId?: string | null;
}

/** An event under a new id; `eventId` gives one that is made of what happened, so that a repeat has the same. */
export function buildEvent(
  subject: EventSubject,
  event: { type: string; data: Record<string, unknown>; now: Date; eventId?: string },
): NewEvent {
  return {
    eventId: event.eventId ?? newId(),
    companyId: subject.companyId,
    instanceId: subject.instanceId,
    type: event.type,
    data: event.data,
    traceId: subject.traceId ?? null,
    createdAt: event.now,
  };
}

/** The subject that a row names. */
export function subjectOf(row: {
  company_id: number;
  instance_id: string;
  trace_id?: string | null;
}): EventSubject {
  return { companyId: row.company_id, instanceId: row.instance_id, traceId: row.trace_id ?? null };
}
