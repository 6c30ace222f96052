import { createSseParser } from '@posthorn/sdk/sse-parser.ts';

export interface RawBodies {
  /** Used in place of the global fetch. */
  fetch: typeof globalThis.fetch;
  /** Returns the event as the service wrote it, and forgets it. */
  take(eventId: string): Buffer;
}

/**
 * Keeps the bytes of each event of a stream as they pass: the client returns parsed events, which serialized again
 * would not be the bytes that webhooks carry.
 */
export function createRawBodies(): RawBodies {
  let bodies = new Map<string, string>();

  function note(data: string | null): void {
    if (data === null) return;
    try {
      const { event_id: id } = JSON.parse(data) as { event_id?: unknown };
      if (typeof id === 'string') bodies.set(id, data);
    } catch {
      // The client parses the same event, and reports what is wrong with it.
    }
  }

  return {
    async fetch(input, init) {
      const response = await globalThis.fetch(input, init);
      if (!response.headers.get('content-type')?.startsWith('text/event-stream') || !response.body)
        return response;
      // All events of the previous connection have been forwarded by now.
      bodies = new Map();
      const parser = createSseParser();
      const tap = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          for (const frame of parser.push(chunk)) note(frame.data);
          controller.enqueue(chunk);
        },
      });
      const { status, headers } = response;
      return new Response(response.body.pipeThrough(tap), { status, headers });
    },
    take(eventId) {
      const body = bodies.get(eventId);
      if (body === undefined) throw new Error(`the event ${eventId} came without its bytes`);
      bodies.delete(eventId);
      return Buffer.from(body);
    },
  };
}
