import { type IncomingMessage, request } from 'node:http';
import { insertEvents, type NewEvent } from '@posthorn/core/events/insert-events.ts';
import { createDb, type Db, type Sql } from '@posthorn/core/platform/database/db.ts';
import { createOrm } from '@posthorn/core/platform/database/orm.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createMessagingServer } from '@posthorn/server/messaging/app.ts';
import { messagingEntities } from '@posthorn/server/messaging/entities.ts';
import { testConfig } from '../support/config.ts';
import type { Parts } from '../support/parts.ts';

/** The messaging server, in this process, on the parts of the test file. */
export async function startMessaging(
  parts: Parts,
  env: Record<string, string> = {},
  wrapHotDb: (db: Db) => Db = (db) => db,
): Promise<{ url: string; close(): Promise<void> }> {
  const orm = await createOrm({ url: parts.url, entities: messagingEntities, name: 'test' });
  const hotDb = createDb({ url: parts.url, poolSize: 4, log: parts.log, name: 'test hot', plans: 'indexed' });
  const server = await createMessagingServer({
    ...parts,
    hotDb: wrapHotDb(hotDb),
    orm,
    config: testConfig(env),
    metrics: createMetrics({ collectProcess: false }),
    validateResponses: true,
  });
  const port = await server.listen(0, '127.0.0.1');
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      await server.close();
      await orm.close();
      await hotDb.close();
    },
  };
}

export function newEvent(companyId: number, more: Partial<NewEvent> = {}): NewEvent {
  return {
    eventId: newId(),
    companyId,
    instanceId: null,
    type: 'message.delivered',
    data: { message_ids: [newId()], chat: '5511999990000@s.whatsapp.net' },
    traceId: null,
    createdAt: new Date(),
    ...more,
  };
}

export async function putEvent(sql: Sql, companyId: number, more: Partial<NewEvent> = {}): Promise<NewEvent> {
  const event = newEvent(companyId, more);
  await insertEvents(sql, [event]);
  return event;
}

export interface SseFrame {
  id: string;
  event: string;
  data: string;
}

export interface SseReader {
  frames: SseFrame[];
  /** The last id of a complete frame, heartbeats included: a browser would resume with it. */
  lastId(): string;
  status: number;
  body: string;
  response: IncomingMessage;
  closed: Promise<void>;
  cut(): void;
}

/** Reads a stream as a browser does: complete frames only, and the id of each. */
export function readSse(
  url: string,
  headers: Record<string, string>,
  onFrame: (frame: SseFrame) => void = () => undefined,
): Promise<SseReader> {
  return new Promise((resolve, reject) => {
    const req = request(url, { headers, agent: false }, (response) => {
      let text = '';
      let lastId = headers['last-event-id'] ?? '';
      let closed = () => {};
      const reader: SseReader = {
        frames: [],
        lastId: () => lastId,
        status: response.statusCode ?? 0,
        body: '',
        response,
        closed: new Promise((done) => {
          closed = done;
        }),
        cut: () => req.destroy(),
      };
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        if (reader.status !== 200) reader.body += chunk;
        text += chunk;
        for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
          const frame = parseFrame(text.slice(0, end));
          text = text.slice(end + 2);
          if (frame.id !== '') lastId = frame.id;
          if (frame.data === '') continue;
          reader.frames.push(frame);
          onFrame(frame);
        }
      });
      response.on('error', () => undefined);
      response.on('close', () => closed());
      resolve(reader);
    });
    req.on('error', reject);
    req.end();
  });
}

function parseFrame(text: string): SseFrame {
  const frame = { id: '', event: 'message', data: '' };
  for (const line of text.split('\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon);
    const value = line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id' || name === 'event') frame[name] = value;
    else if (name === 'data') frame.data += value;
  }
  return frame;
}
