import { connect } from 'node:net';

/**
 * RabbitMQ (seen on 3.10.8) saves the directory of its quorum queues in tables that it writes to disk
 * only now and then. Killed in the first second of a queue's life, it comes back with a queue that exists
 * and never confirms anything again. Brokers do not die then; tests that start, declare and kill do.
 */
export const SYNC_TABLES = ['eval', '[dets:sync(T) || T <- dets:all()].'] as const;

/** The two alarms during which a broker takes no publishes: the commands that raise each, and those that end it. */
export const RABBIT_ALARMS = [
  {
    short: 'memory',
    raise: ['set_vm_memory_high_watermark', '0.0000001'],
    clear: ['set_vm_memory_high_watermark', 'absolute', '512MB'],
  },
  // More than any disk has free.
  { short: 'disk', raise: ['set_disk_free_limit', '1000000GB'], clear: ['set_disk_free_limit', '1MB'] },
] as const;

/** A private broker that a test may hurt. */
export interface RabbitServer {
  /** With the default virtual host. */
  url: string;
  dir: string;
  /** SIGKILL, after {@link SYNC_TABLES} (half a second); confirmed messages stay. */
  kill(): Promise<void>;
  /** Starts it again on the same data and port, killing it first if it runs. */
  restart(): Promise<void>;
  /** Kills it, removes its data and starts it empty. */
  wipe(): Promise<void>;
  /** Stops its process: connections stay open and nobody answers. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Runs rabbitmqctl against it and returns its output. */
  ctl(...args: string[]): Promise<string>;
  /** Stops it and removes its folder. */
  stop(): Promise<void>;
}

/** The parameters that all ways of running a broker share: files to read and a port to listen on. */
export interface RabbitLaunch {
  dir: string;
  port: number;
  /** Config lines about users and virtual hosts; `load_definitions` is added by the launcher. */
  config: string;
  definitionsFile: string;
  url: string;
  /** Where it listens; by default 127.0.0.1. */
  host?: string;
  /** For a node of a cluster, whose nodes have the same ports on addresses of their own. */
  cluster?: { cookie: string; distPort: number };
}

/**
 * True when something on that port speaks AMQP: it answers a wrong protocol header with its own. False after `timeoutMs`,
 * and at once where nobody listens.
 */
export function speaksAmqp(port: number, host = '127.0.0.1', timeoutMs = 1_000): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, host);
    const end = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', () => socket.write('AMQP\x00\x00\x00\x00'));
    socket.once('data', () => end(true));
    socket.once('error', () => end(false));
    socket.once('close', () => end(false));
    socket.setTimeout(timeoutMs, () => end(false));
  });
}
