import { createSseParser } from '@posthorn/sdk/sse-parser.ts';

export interface RawBodies {
  /** In place of the global fetch. */
  fetch: typeof globalThis.fetch;
  /** The event as the service wrote it. Once: it is forgotten then. */
  take(eventId: string): Buffer;
}

/**
 * Notes the bytes of each event of a stream while they pass: the client gives events parsed, and written again they
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
      // What the connection before gave has been handed over by now.
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
