import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A hand-made connection, for clients that behave as no library does. */
export interface SlowClient {
  socket: Socket;
  /** Everything that the server has sent so far. */
  text(): string;
  /** Resolves with the life of the connection, in ms, when the server has closed it. */
  closed: Promise<number>;
}

export async function openSlowClient(url: string): Promise<SlowClient> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  let text = '';
  const begun = performance.now();
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise<number>((resolve) =>
    socket.once('close', () => resolve(performance.now() - begun)),
  );
  await once(socket, 'connect');
  return { socket, text: () => text, closed };
}

/** The head of a request that announces a body, which does not come. */
export function headOf(method: string, path: string, headers: Record<string, string | number>): string {
  const lines = Object.entries({ host: 'x', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
}
