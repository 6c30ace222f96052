import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type BenchDatabases, type BenchServer, startMessaging, startReference } from '../servers.ts';
import { fillChats } from './fill-chats.ts';
import { fillMessages } from './fill-messages.ts';
import { type Compared, compareAccepts } from './rounds.ts';
import { uploadImages } from './upload-images.ts';

export interface RoundOptions {
  rounds: number;
  seconds: number;
}

/** Accept with everything on, compared with the bare framework, a bare server and a unit of work. */
export async function compareWithReferences(
  databases: BenchDatabases,
  options: RoundOptions,
): Promise<Compared> {
  const ours = await databases.create('bench_accept', 'posthorn');
  const references = await databases.create('bench_references', 'reference');
  return whileRunning(
    [
      () => startMessaging(databases.open(ours), ours),
      () => startReference('framework'),
      // 32 connections: this reference's best for 64 clients (16 were a fifth slower).
      () => startReference('bare', { DATABASE_URL: references, POOL: '32' }),
      () => startReference('orm', { DATABASE_URL: references }),
    ],
    (servers) => compareAccepts(servers, options),
  );
}

/** Accept into a database with `rows` messages, compared with an empty one. */
export async function compareFullWithEmpty(
  databases: BenchDatabases,
  options: RoundOptions & { rows: number },
): Promise<Compared> {
  const fullUrl = await databases.create('bench_full', 'posthorn');
  const emptyUrl = await databases.create('bench_empty', 'posthorn');
  const full = databases.open(fullUrl);
  return whileRunning(
    [
      async () => {
        const server = await startMessaging(full, fullUrl, { label: `${options.rows} rows` });
        const found = await full.query<{ company_id: number }>('SELECT company_id FROM instances LIMIT 1');
        const companyId = found.rows[0]?.company_id ?? 0;
        await fillMessages(full, { companyId, instanceIds: server.target.instanceIds, rows: options.rows });
        return server;
      },
      () => startMessaging(databases.open(emptyUrl), emptyUrl, { label: 'empty' }),
    ],
    (servers) => compareAccepts(servers, options),
  );
}

/** Accept of a company with many chats, compared with one without any. */
export async function compareManyChatsWithNone(
  databases: BenchDatabases,
  options: RoundOptions & { chats: number },
): Promise<Compared> {
  const manyUrl = await databases.create('bench_chats', 'posthorn');
  const noneUrl = await databases.create('bench_no_chats', 'posthorn');
  const many = databases.open(manyUrl);
  return whileRunning(
    [
      async () => {
        const server = await startMessaging(many, manyUrl, { label: `${options.chats} chats` });
        const found = await many.query<{ company_id: number }>('SELECT company_id FROM instances LIMIT 1');
        const companyId = found.rows[0]?.company_id ?? 0;
        await fillChats(many, {
          companyId,
          instanceIds: server.target.instanceIds,
          chats: options.chats,
        });
        return server;
      },
      () => startMessaging(databases.open(noneUrl), noneUrl, { label: 'no chats' }),
    ],
    (servers) => compareAccepts(servers, options),
  );
}

/** Images by `media_id` compared with texts, both to the same server. */
export async function compareImagesWithTexts(
  databases: BenchDatabases,
  options: RoundOptions,
): Promise<Compared> {
  const url = await databases.create('bench_images', 'posthorn');
  const dir = await mkdtemp(path.join(tmpdir(), 'posthorn-bench-'));
  try {
    return await whileRunning(
      [() => startMessaging(databases.open(url), url, { label: 'text', env: { DATA_DIR: dir } })],
      async ([texts]) => {
        const formOf = await uploadImages(texts!.target);
        const images = { ...texts!, name: 'image by media_id', target: { ...texts!.target, formOf } };
        return compareAccepts([images, texts!], options);
      },
    );
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function whileRunning<T>(
  starts: readonly (() => Promise<BenchServer>)[],
  work: (servers: BenchServer[]) => Promise<T>,
): Promise<T> {
  const servers: BenchServer[] = [];
  try {
    for (const start of starts) servers.push(await start());
    return await work(servers);
  } finally {
    for (const server of servers) await server.process.kill();
  }
}
