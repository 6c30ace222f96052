import { Pool } from 'undici';
import type { BenchServer } from '../servers.ts';
import { median } from '../statistics.ts';

const PAGE = 50;
const PAGES_PASSED = 10;
const REQUESTS = 200;

/** Milliseconds of one request, one at a time. */
export interface ListTimes {
  read: string;
  /** Times of the first server and of the second one. */
  fullMs: number;
  emptyMs: number;
  /** The first divided by the second in the same round; the median over the rounds. */
  ratio: number;
}

/** A server with an instance that was used before its others and not since. */
interface Listed {
  server: BenchServer;
  quietId: string;
}

/** Compares the times in which two servers read the instances that both were loaded with, round after round. */
export async function compareLists(
  [full, empty]: readonly [Listed, Listed],
  { rounds }: { rounds: number },
): Promise<ListTimes[]> {
  const readers = [await openReader(full), await openReader(empty)] as const;
  const results: ListTimes[] = [];
  try {
    for (const [nth, { read }] of readers[0].reads.entries()) {
      for (const reader of readers) await reader.timeMs(nth);
      const times: [number, number][] = [];
      for (let round = 0; round < rounds; round += 1)
        times.push([await readers[0].timeMs(nth), await readers[1].timeMs(nth)]);
      results.push({
        read,
        fullMs: median(times.map(([ms]) => ms)),
        emptyMs: median(times.map(([, ms]) => ms)),
        ratio: median(times.map(([fullMs, emptyMs]) => fullMs / emptyMs)),
      });
    }
    return results;
  } finally {
    for (const reader of readers) await reader.close();
  }
}

async function openReader({ server: { target }, quietId }: Listed) {
  const pool = new Pool(target.url, { connections: 1 });
  const get = async (path: string) => {
    const answer = await pool.request({ method: 'GET', path, headers: { 'x-api-key': target.apiKey } });
    const body = (await answer.body.json()) as { data: { message_id: string }[]; next_cursor: string | null };
    if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode} ${JSON.stringify(body)}`);
    return body;
  };
  const reads: { read: string; paths: string[] }[] = [
    { read: 'newest messages', paths: [] },
    { read: `messages after ${PAGES_PASSED} pages`, paths: [] },
    { read: 'newest messages, outbound', paths: [] },
    { read: 'newest chats', paths: [] },
    { read: 'one message', paths: [] },
    {
      read: 'newest messages of a quiet instance',
      paths: [`/v1/instances/${quietId}/messages?limit=${PAGE}`],
    },
    {
      read: 'the same, outbound',
      paths: [`/v1/instances/${quietId}/messages?limit=${PAGE}&direction=outbound`],
    },
  ];
  for (const instanceId of target.instanceIds) {
    const instance = `/v1/instances/${instanceId}`;
    const newest = `${instance}/messages?limit=${PAGE}`;
    const first = await get(newest);
    let cursor = first.next_cursor;
    for (let page = 1; page < PAGES_PASSED && cursor; page += 1)
      cursor = (await get(`${newest}&before=${cursor}`)).next_cursor;
    if (!cursor) throw new Error(`instance ${instanceId} has too few messages for ${PAGES_PASSED} pages`);
    const paths = [
      newest,
      `${newest}&before=${cursor}`,
      `${newest}&direction=outbound`,
      `${instance}/chats?limit=${PAGE}`,
      `${instance}/message/${first.data[0]!.message_id}`,
    ];
    for (const [nth, path] of paths.entries()) reads[nth]!.paths.push(path);
  }
  return {
    reads,
    async timeMs(nth: number): Promise<number> {
      const { paths } = reads[nth]!;
      const times: number[] = [];
      for (let request = 0; request < REQUESTS; request += 1) {
        const from = performance.now();
        await get(paths[request % paths.length]!);
        times.push(performance.now() - from);
      }
      return median(times);
    },
    close: () => pool.close(),
  };
}
