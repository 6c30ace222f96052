/**
 * Reads the network's frames so that an unreadable item costs only that item. Events are repeated until they
 * are acknowledged: a frame refused as a whole would return forever and block everything behind it.
 */
import { z } from 'zod/v4';
import { ackItem, type NetworkEvent, networkEvent, type ServerFrame, serverFrame } from '../frames.ts';

/** An unreadable event. It is acknowledged in its place. */
export interface RefusedEvent {
  s: number;
  k: 'refused';
  why: string;
}

/** A message of which only the envelope is readable: its sender and chat. */
export type UnreadableEvent = Extract<NetworkEvent, { k: 'message' }> & { unreadable: true };

export type ReadEvent = NetworkEvent | UnreadableEvent | RefusedEvent;

type FlowFrame = Omit<Extract<ServerFrame, { t: 'flow' }>, 'events'> & { events?: ReadEvent[] };
export type ReadFrame = Exclude<ServerFrame, { t: 'flow' }> | FlowFrame;

const looseFlow = z.object({
  t: z.literal('flow'),
  acks: z.array(z.unknown()).optional(),
  events: z.array(z.unknown()).optional(),
});

const named = z.object({
  s: z.int(),
  k: z.literal('message'),
  id: z.string(),
  chat: z.string(),
  from: z.string(),
  name: z.string().catch(''),
  from_me: z.literal(true).optional().catch(undefined),
  at: z.number().catch(0),
});

const numbered = z.object({ s: z.int() });

/** The readable part of a frame. Throws if the text is not a frame at all. */
export function readFrame(text: string): ReadFrame {
  const value: unknown = JSON.parse(text);
  const whole = serverFrame.safeParse(value);
  if (whole.success) return whole.data;
  const flow = looseFlow.safeParse(value);
  if (!flow.success) throw whole.error;
  const acks = flow.data.acks?.flatMap((each) => {
    const read = ackItem.safeParse(each);
    return read.success ? [read.data] : [];
  });
  return { t: 'flow', acks, events: flow.data.events?.flatMap(readEvent) };
}

/** Skips an event without a number: acknowledging the next one includes it. */
function readEvent(value: unknown): ReadEvent[] {
  const read = networkEvent.safeParse(value);
  if (read.success) return [read.data];
  const message = named.safeParse(value);
  if (message.success) return [{ ...message.data, type: 'unknown', content: {}, unreadable: true }];
  const place = numbered.safeParse(value);
  return place.success ? [{ s: place.data.s, k: 'refused', why: whyOf(read.error) }] : [];
}

/** The places of the errors, without the values there. */
function whyOf(error: z.ZodError): string {
  return error.issues
    .slice(0, 3)
    .map(({ path, code }) => `${path.join('.')}: ${code}`)
    .join(', ')
    .slice(0, 200);
}
