import { setTimeout as delay } from 'node:timers/promises';
import { fetch } from '@posthorn/core/platform/http/fetch.ts';

/** Requests the given address, and reads the answer more slowly than it comes. */
async function readSlowly(url: string): Promise<number> {
  const answer = await fetch(url);
  const reader = answer.body!.getReader();
  let bytes = 0;
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.length;
    await delay(50);
  }
  return bytes;
}

// Makes Node load its own client, as it does for the streams of the server.
new Headers();
await readSlowly(process.argv[2]!).then(
  (bytes) => console.log(`read ${bytes} bytes`),
  (err: Error) => console.log(`reading failed: ${err.message}`),
);
