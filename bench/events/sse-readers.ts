/**
 * 2,000 SSE readers on one process: memory per connection and events per second (frames that reached a
 * reader), compared with a raw `res.write` loop (aim: at least 0.8x). The loop writes each event to each
 * reader; the feed writes events that committed together once, as one chunk rendered for all readers. Needs a
 * migrated database: DATABASE_URL.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { insertEvents, type NewEvent } from '@posthorn/core/events/insert-events.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { newId } from '@posthorn/core/platform/ids.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';

const READERS = Number(process.env.READERS ?? 2_000);
const EVENTS = Number(process.env.EVENTS ?? 200);
const ROUNDS = 3;

interface Figures {
  perSecond: number;
  bytesEach: number;
  cpuUs: number;
}

/** One row each, with medians of alternating rounds. */
export async function benchSseReaders(databaseUrl: string): Promise<object[]> {
  const raw: Figures[] = [];
  const feed: Figures[] = [];
  // Alternating, so that other load on the machine affects both.
  for (let round = 0; round < ROUNDS; round += 1) {
    raw.push(await measure('raw', databaseUrl));
    feed.push(await measure('feed', databaseUrl));
  }
  const [base, ours] = [middle(raw), middle(feed)];
  return [row('raw res.write loop', base, base), row('event feed over better-sse', ours, base)];
}

function row(name: string, figures: Figures, base: Figures) {
  return {
    name,
    'events/s': Math.round(figures.perSecond),
    ratio: Number((figures.perSecond / base.perSecond).toFixed(2)),
    'CPU µs an event': Number(figures.cpuUs.toFixed(2)),
    'kB a connection': Number((figures.bytesEach / 1024).toFixed(1)),
  };
}

function middle(figures: readonly Figures[]): Figures {
  return figures.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(figures.length / 2)]!;
}

async function measure(mode: 'raw' | 'feed', databaseUrl: string): Promise<Figures> {
  const log = createLog({ level: 'warn', role: 'bench' });
  const db = createDb({ url: databaseUrl, poolSize: 2, log, name: 'bench' });
  const bus = await createBus({ url: databaseUrl, log, name: 'bench' });
  const slug = `bench-${randomUUID()}`;
  const { rows } = await db.query<{ id: number }>(
    'INSERT INTO companies (name, slug) VALUES ($1, $1) RETURNING id',
    [slug],
  );
  const companyId = rows[0]!.id;
  const server = await startServer(mode, databaseUrl, companyId);
  const before = Number(await server.ask('memory'));
  let frames = 0;
  const onData = (chunk: Buffer) => {
    // A frame ends with an empty line; HTTP chunks contain no other.
    for (let at = chunk.indexOf('\n\n'); at >= 0; at = chunk.indexOf('\n\n', at + 2)) frames += 1;
  };
  const sockets: Socket[] = [];
  for (let i = 0; i < READERS; i += 1) sockets.push(await openReader(server.port, onData));
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  const bytesEach = (Number(await server.ask('memory')) - before) / READERS;
  const cpuBefore = Number(await server.ask('cpu'));
  frames = 0;
  const startedAt = performance.now();
  if (mode === 'raw') server.tell('raw');
  else {
    const events = Array.from({ length: EVENTS }, () => newEvent(companyId));
    for (let i = 0; i < EVENTS; i += 10) {
      await insertEvents(db, events.slice(i, i + 10));
      bus.notify('events', String(companyId));
    }
  }
  while (frames < READERS * EVENTS * 0.999) await new Promise((resolve) => setTimeout(resolve, 5));
  const seconds = (performance.now() - startedAt) / 1000;
  const cpuUs = (Number(await server.ask('cpu')) - cpuBefore) / (READERS * EVENTS);
  for (const socket of sockets) socket.destroy();
  server.stop();
  await bus.close();
  await db.close();
  return { perSecond: (READERS * EVENTS) / seconds, bytesEach, cpuUs };
}

const DATA = { message_ids: [newId()], chat: '5511999990000@s.whatsapp.net', content: 'x'.repeat(200) };

function newEvent(companyId: number): NewEvent {
  return {
    eventId: newId(),
    companyId,
    instanceId: newId(),
    type: 'message.sent',
    data: DATA,
    traceId: null,
    createdAt: new Date(),
  };
}

function openReader(port: number, onData: (chunk: Buffer) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nhost: bench\r\n\r\n'));
    socket.once('error', reject);
    socket.once('data', () => {
      socket.on('data', onData);
      resolve(socket);
    });
  });
}

async function startServer(mode: string, databaseUrl: string, companyId: number) {
  const event = newEvent(companyId);
  const body = JSON.stringify({
    event_id: event.eventId,
    type: event.type,
    data: event.data,
    at: event.createdAt,
    company_id: 1,
  });
  const child = spawn(
    process.execPath,
    ['--expose-gc', new URL('./sse-server-main.ts', import.meta.url).pathname],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH,
        MODE: mode,
        DATABASE_URL: databaseUrl,
        COMPANY_ID: String(companyId),
        EVENTS: String(EVENTS),
        FRAME: `id:1abc-2def-m3x4y5z6\nevent:message.sent\ndata:${body}\n\n`,
      },
    },
  );
  const lines = createInterface({ input: child.stdout });
  const nextLine = () => new Promise<string>((resolve) => lines.once('line', resolve));
  const port = Number(await nextLine());
  return {
    port,
    tell: (line: string) => void child.stdin.write(`${line}\n`),
    ask(line: string) {
      const answer = nextLine();
      child.stdin.write(`${line}\n`);
      return answer;
    },
    stop: () => child.stdin.end(),
  };
}

if (import.meta.main) {
  if (!process.env.DATABASE_URL) throw new Error('DATABASE_URL is required');
  console.table(await benchSseReaders(process.env.DATABASE_URL));
}
