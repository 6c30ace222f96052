import { parentPort, workerData } from 'node:worker_threads';
import { WebSocket } from 'ws';

/** The thread of a client that answers pings: reports when its first pong is written, and when it was closed. */
const { url, ponged } = workerData as { url: string; ponged: Int32Array };
const socket = new WebSocket(url, { autoPong: false });
socket.on('ping', (data) =>
  socket.pong(data, true, () => {
    Atomics.store(ponged, 0, 1);
    Atomics.notify(ponged, 0);
  }),
);
socket.on('close', () => parentPort!.postMessage('closed'));
