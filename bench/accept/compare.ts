import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { seedInstance } from '@posthorn/test/support/seed.ts';
import { type BenchDatabases, type BenchServer, startMessaging, startReference } from '../servers.ts';
import { fillChats } from './fill-chats.ts';
import { fillMessages, fillQuiet } from './fill-messages.ts';
import { compareLists, type ListTimes } from './list-pages.ts';
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

/** Accept into a database with `rows` messages, and reads of it, compared with one that began empty. */
export async function compareFullWithEmpty(
  databases: BenchDatabases,
  options: RoundOptions & { rows: number },
): Promise<{ accepts: Compared; lists: ListTimes[] }> {
  const quietIds: string[] = [];
  const start = async (name: string, rows: number, quietRows: number) => {
    const url = await databases.create(`bench_${name}`, 'posthorn');
    const db = databases.open(url);
    const server = await startMessaging(db, url, { label: name === 'full' ? `${rows} rows` : name });
    const found = await db.query<{ company_id: number }>('SELECT company_id FROM instances LIMIT 1');
    const companyId = found.rows[0]?.company_id ?? 0;
    const quietId = await seedInstance(db, companyId);
    await fillQuiet(db, { companyId, instanceId: quietId, rows: quietRows });
    if (rows > 0)
      await fillMessages(db, { companyId, instanceIds: server.target.instanceIds, rows: rows - quietRows });
    quietIds.push(quietId);
    return server;
  };
  return whileRunning(
    [() => start('full', options.rows, options.rows / 20), () => start('empty', 0, 10_000)],
    async ([full, empty]) => ({
      accepts: await compareAccepts([full!, empty!], options),
      lists: await compareLists(
        [
          { server: full!, quietId: quietIds[0]! },
          { server: empty!, quietId: quietIds[1]! },
        ],
        options,
      ),
    }),
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
