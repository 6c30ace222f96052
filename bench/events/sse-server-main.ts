/**
 * An SSE server to measure: `raw` writes each event to each connection with `res.write`, `feed` serves the
 * event log as the messaging server does. Settings: MODE, DATABASE_URL, COMPANY_ID, EVENTS. Prints its port;
 * answers `memory` with its memory in bytes and `cpu` with µs of CPU used; `raw` starts the loop.
 */
import { createServer, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import type { Principal } from '@posthorn/core/access/principal.ts';
import { createEventFeed } from '@posthorn/core/events/event-feed.ts';
import { createBus } from '@posthorn/core/platform/broker/bus.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { systemClock } from '@posthorn/core/platform/process/clock.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createLiveConnections } from '@posthorn/server/http/live-connections.ts';
import { openEventStream } from '@posthorn/server/http/sse.ts';

const { MODE, DATABASE_URL, COMPANY_ID, EVENTS, FRAME } = process.env;
const serve = MODE === 'feed' ? await serveFeed() : serveRaw();

async function serveFeed() {
  const log = createLog({ level: 'warn', role: 'bench' });
  const db = createDb({ url: DATABASE_URL!, poolSize: 4, log, name: 'bench sse', plans: 'indexed' });
  const bus = await createBus({ url: DATABASE_URL!, log, name: 'bench sse' });
  const feed = createEventFeed({ db, bus, clock: systemClock, log, retentionDays: 14 });
  const connections = createLiveConnections({ bus, clock: systemClock });
  const principal = { companyId: Number(COMPANY_ID), userId: 1, tokenId: null } as Principal;
  const server = createServer((request, response) => {
    const takeResponse = () => ({ request, response, headers: {} });
    void openEventStream(
      { db, feed, connections },
      { principal, startedAt: performance.now(), query: {}, headers: request.headers, takeResponse },
    );
  });
  return { server, start: () => undefined };
}

function serveRaw() {
  const readers: ServerResponse[] = [];
  const server = createServer((_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.write(': \n\n');
    readers.push(res);
  });
  const start = async () => {
    for (let sent = 0; sent < Number(EVENTS); sent += 1) {
      for (const res of readers) res.write(FRAME!);
      // Lets the sockets drain, as any server must.
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
  return { server, start };
}

serve.server.listen(0, '127.0.0.1', 4096, () => {
  console.log((serve.server.address() as { port: number }).port);
});
createInterface({ input: process.stdin })
  .on('line', (line) => {
    if (line === 'memory') {
      globalThis.gc?.();
      console.log(process.memoryUsage().rss);
    } else if (line === 'cpu') {
      const { user, system } = process.cpuUsage();
      console.log(user + system);
    } else void serve.start();
  })
  .on('close', () => process.exit(0));
