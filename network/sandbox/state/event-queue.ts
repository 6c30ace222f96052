/**
 * The events that an account has not acknowledged yet, in order. Numbers run without a gap, so any event is found by
 * its number in O(1), and an ack up to N drops from the front.
 */
import type { EventQueue, PendingEvent } from './model.ts';

export function createEventQueue(ackedSeq = 0): EventQueue {
  let acked = ackedSeq;
  let items: PendingEvent[] = [];
  let head = 0;
  const size = () => items.length - head;
  return {
    lastSeq: () => acked + size(),
    ackedSeq: () => acked,
    size,
    push(event) {
      if (event.seq !== acked + size() + 1) throw new Error(`event ${event.seq} is out of order`);
      items.push(event);
    },
    after(seq, limit) {
      const start = head + Math.max(0, seq - acked);
      return items.slice(start, start + limit);
    },
    ack(seq) {
      const count = Math.min(seq - acked, size());
      if (count <= 0) return [];
      const dropped = items.slice(head, head + count);
      head += count;
      acked += count;
      // Shifting on each ack would copy the whole queue: cut only once half of it is behind us.
      if (head > 1024 && head * 2 > items.length) {
        items = items.slice(head);
        head = 0;
      }
      return dropped;
    },
    all: () => items.slice(head),
  };
}
