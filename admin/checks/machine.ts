import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { buffer } from 'node:stream/consumers';
import { shardQueue } from '@posthorn/core/instances/shard.ts';
import { openStorage } from '@posthorn/core/media/open-storage.ts';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import { withTimeout } from '@posthorn/core/platform/process/with-timeout.ts';
import { findFfmpeg } from '@posthorn/worker/media/find-ffmpeg.ts';
import type { AdminDeps, Finding } from '../command.ts';

export async function checkNode(): Promise<Finding> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < 22 || (major === 22 && minor < 18))
    throw new Error(`${process.versions.node}: 22.18 or newer is required`);
  return { says: process.versions.node };
}

const BROKER_MS = 10_000;

/** Declares a queue of the installation and publishes a wake-up to it that names nobody. */
export async function checkBroker({ config, hasBroker, log }: AdminDeps): Promise<Finding> {
  if (!hasBroker) return { says: 'in the process of npm start' };
  const broker = createRabbitBroker({ url: config.AMQP_URL, log });
  try {
    const sinceMs = performance.now();
    const tried = broker
      .declare([shardQueue(0)])
      .then(() => broker.publish(shardQueue(0), { instances: [] }));
    const isDone = await withTimeout(
      tried.then(() => true),
      BROKER_MS,
      () => false,
    );
    if (!isDone && broker.isBlocked())
      throw new Error('RabbitMQ is short of memory or disk and takes no messages');
    if (!isDone)
      throw new Error(
        `nothing was stored within ${BROKER_MS / 1000} s: is it reached, and has the user its rights?`,
      );
    return { says: `stored a message in ${Math.round(performance.now() - sinceMs)} ms` };
  } finally {
    await broker.close();
  }
}

/** Writes an object, reads it and removes it. */
export async function checkStorage({ config, db }: AdminDeps): Promise<Finding> {
  const storage = await openStorage({ config, db });
  if (!storage) return { says: 'none (MEDIA_STORAGE): media are refused', isRemark: true };
  const folder = await mkdtemp(path.join(tmpdir(), 'posthorn-doctor-'));
  const key = `doctor/${randomUUID()}`;
  try {
    const file = path.join(folder, 'probe');
    await writeFile(file, key);
    await storage.put(key, { path: file, sizeBytes: key.length }, { mimeType: 'text/plain' });
    const read = (await buffer(await storage.open(key))).toString();
    await storage.remove(key);
    if (read !== key) throw new Error('an object that was read is not the one that was written');
    return { says: `${storage.name}: written, read and removed` };
  } finally {
    await storage.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const GB = 1024 ** 3;
const FREE_MIN_BYTES = GB;

/** Uploads may take MEDIA_SPOOL_MB in each process. On a disk that they fill the database of `npm start` stops, too. */
export async function checkDisk({ config }: AdminDeps): Promise<Finding> {
  const { bavail, bsize, blocks } = await statfs(config.DATA_DIR);
  const free = bavail * bsize;
  const says = `${(free / GB).toFixed(1)} GB of ${((blocks * bsize) / GB).toFixed(1)} free at DATA_DIR`;
  if (free === 0) throw new Error(says);
  const spool = config.MEDIA_SPOOL_MB * 1024 * 1024;
  if (config.MEDIA_STORAGE !== 'none' && spool > free)
    return {
      says: `${says}, of which each process may fill ${(spool / GB).toFixed(1)} (MEDIA_SPOOL_MB)`,
      isRemark: true,
    };
  return { says, isRemark: free < FREE_MIN_BYTES };
}

export async function checkFfmpeg({ config }: AdminDeps): Promise<Finding> {
  const { ffmpeg, problem } = await findFfmpeg({ path: config.FFMPEG_PATH });
  if (!ffmpeg) return { says: `${problem}: voice notes and GIFs fail`, isRemark: true };
  return { says: ffmpeg.path };
}
