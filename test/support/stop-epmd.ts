import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

const TRIES = 50;

/**
 * Ends a private Erlang port mapper by its own protocol: it makes itself a daemon, so its pid is unknown. It refuses
 * until it has noticed that its node is gone, hence the tries.
 */
export async function stopEpmd(port: number): Promise<void> {
  for (let tries = 0; tries < TRIES && (await sendKill(port)); tries += 1) await delay(20);
}

/** Sends a KILL_REQ; false when nobody listens there. */
function sendKill(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => socket.end(Buffer.from([0, 1, 'k'.charCodeAt(0)])));
    socket.once('error', () => resolve(false));
    socket.once('close', () => resolve(true));
    socket.resume();
    socket.setTimeout(1_000, () => socket.destroy());
  });
}
