import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import type { BuiltPackages } from './built-packages.ts';

/** The servers and packages that the files of a run share. Each is made when the first file asks for it. */
export interface SharedThings {
  /** Null in a run of few files, for which building takes longer than it saves. */
  packages: BuiltPackages | null;
  /** A server with the migrated template, as its superuser. */
  postgres: { url: string };
  /** `claims` is the folder where files claim its virtual hosts; a broker from elsewhere has none. */
  rabbitmq: { url: string; claims?: string };
}

type Makers = { [Name in keyof SharedThings]: () => Promise<SharedThings[Name]> };

/** The runner's end. */
export interface Offer {
  /** The next file that asks gets a new one. */
  renew(name: keyof SharedThings): void;
  close(): void;
}

/**
 * Answers the test files over a socket at that path, which they find in POSTHORN_TEST_SHARED. A file that needs no server
 * waits for none, and a run of such files starts none.
 */
export async function offerShared(socketPath: string, makers: Makers): Promise<Offer> {
  const made = new Map<string, Promise<unknown>>();
  const make = (name: keyof SharedThings) => {
    const found = made.get(name) ?? makers[name]();
    made.set(name, found);
    return found;
  };
  const server = createServer({ allowHalfOpen: true }, async (socket) => {
    // A file that was ended meanwhile no longer waits for an answer.
    socket.on('error', () => undefined);
    const name = (await text(socket)) as keyof SharedThings;
    const answer = await make(name).then(
      (thing) => ({ thing }),
      (err: Error) => ({ error: err.message }),
    );
    socket.end(JSON.stringify(answer));
  }).listen(socketPath);
  await once(server, 'listening');
  process.env.POSTHORN_TEST_SHARED = socketPath;
  return {
    renew: (name) => void made.delete(name),
    close: () => void server.close(),
  };
}

/** A test file's end: what the run shares; undefined for a file that runs without the runner. */
export async function askShared<Name extends keyof SharedThings>(
  name: Name,
): Promise<SharedThings[Name] | undefined> {
  const socketPath = process.env.POSTHORN_TEST_SHARED;
  if (!socketPath) return undefined;
  const socket = createConnection(socketPath).end(name);
  const answer = JSON.parse(await text(socket)) as { thing: SharedThings[Name]; error?: string };
  if (answer.error) throw new Error(answer.error);
  return answer.thing;
}
