import { buildPackages } from './built-packages.ts';
import { startTestPostgres } from './postgres.ts';
import { claimsOf, startRabbit } from './rabbitmq.ts';
import { speaksAmqp } from './rabbitmq-server.ts';
import { type Offer, offerShared } from './shared.ts';

/** The broker is asked once, so this is longer than a busy broker takes. */
const AMQP_TIMEOUT_MS = 30_000;
/** Up to this many files, as msgctl has, use the sources of the packages in place of built ones. */
const FEW_FILES = 40;

export interface SharedServers {
  /** The files from here on run alone, on a database that waits for the disk. */
  alone(): void;
  /** Stops what was started. */
  stop(): Promise<void>;
}

/**
 * Offers a PostgreSQL, a RabbitMQ and the built packages to the files of a run; `files` is their number, and `broker`
 * the address of a RabbitMQ that runs already.
 *
 * Files that run side by side get a database that does not wait for the disk: they test the death of processes, not
 * power cuts, and a disk that is stuck for seconds would fail any of them that is under way. Files that run alone get a
 * database with durable writes.
 */
export async function offerServers(
  socketPath: string,
  { broker, files }: { broker: string | undefined; files: number },
): Promise<SharedServers> {
  const stops: (() => Promise<void>)[] = [];
  let fsync = false;
  const offer: Offer = await offerShared(socketPath, {
    packages: async () => (files > FEW_FILES ? timed('The built packages', buildPackages) : null),
    postgres: () =>
      timed('PostgreSQL', async () => {
        const server = await startTestPostgres({ fsync });
        stops.push(server.stop);
        return { url: server.url };
      }),
    rabbitmq: () =>
      timed('RabbitMQ', async () => {
        if (broker) return given(broker);
        const server = await startRabbit();
        stops.push(server.stop);
        return { url: server.url, claims: claimsOf(server) };
      }),
  });
  return {
    alone() {
      fsync = true;
      offer.renew('postgres');
    },
    async stop() {
      offer.close();
      await Promise.all(stops.splice(0).map((stop) => stop()));
    },
  };
}

async function given(url: string): Promise<{ url: string }> {
  const { hostname, port, protocol } = new URL(url);
  // Over TLS the client speaks first, so such a broker is checked only by the first test that uses it.
  if (protocol === 'amqp:' && !(await speaksAmqp(Number(port || 5672), hostname, AMQP_TIMEOUT_MS)))
    throw new Error('no RabbitMQ answers at AMQP_URL');
  return { url };
}

/**
 * Prints on the run's own output how long it took, or in one line why it failed: the files repeat that in their own
 * words.
 */
async function timed<T>(what: string, start: () => Promise<T>): Promise<T> {
  const since = performance.now();
  try {
    const thing = await start();
    console.log(`${what}: ready after ${((performance.now() - since) / 1_000).toFixed(1)} s`);
    return thing;
  } catch (err) {
    console.error((err as Error).message);
    throw err;
  }
}
