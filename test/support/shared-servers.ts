import { buildPackages } from './built-packages.ts';
import { startTestPostgres } from './postgres.ts';
import { claimsOf, startRabbit } from './rabbitmq.ts';
import { speaksAmqp } from './rabbitmq-server.ts';
import { type Offer, offerShared } from './shared.ts';

/** Asked once: longer than a busy broker takes. */
const AMQP_TIMEOUT_MS = 30_000;
/** Those of msgctl. */
const FEW_FILES = 40;

export interface SharedServers {
  /** The files from here on run alone, on a database that waits for the disk. */
  alone(): void;
  /** Stops what was started. */
  stop(): Promise<void>;
}

/**
 * Offers a PostgreSQL, a RabbitMQ and the built packages to the files of a run, of which there are `files`; `broker` is the
 * address of a RabbitMQ that is there already.
 *
 * Files that run side by side get a database that does not wait for the disk: what they test survives processes, not
 * power cuts, and a disk that stands still for seconds would fail whichever of them is under way. Those that run alone
 * get the real thing.
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
  // TLS speaks first itself; such a broker shows with the first test whether it is there.
  if (protocol === 'amqp:' && !(await speaksAmqp(Number(port || 5672), hostname, AMQP_TIMEOUT_MS)))
    throw new Error('no RabbitMQ answers at AMQP_URL');
  return { url };
}

/** Says on the run's own output how long it took, or in one line why it failed: the files repeat that in their words. */
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
