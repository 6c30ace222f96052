import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { controlOf } from '@posthorn/test/network/sandbox-harness.ts';
import { freePort, type RunningProcess, startProcess } from '@posthorn/test/support/process.ts';
import type { Target } from '../load.ts';
import type { BenchDatabases } from '../servers.ts';
import { median } from '../statistics.ts';
import { measureLatency, sendTexts } from './drive.ts';
import { launchStandalone, prepare } from './pipelines.ts';
import { startReceiver } from './receiver.ts';

const PER_SECOND = 20;
const SECONDS = 8;
const INSTANCES = 4;
/** The neighbour starts this long before the measurement. */
const AHEAD_MS = 1_000;
const PART_OF_THE_MACHINE = 100;
const SLOW_ANSWER_MS = 5_000;

/** Times from the request to the webhook, for a company that sends 20 texts a second; medians of the rounds. */
export interface FairnessRow {
  neighbour: string;
  p50Ms: number;
  p99Ms: number;
  /** Ratio to the p99 without a neighbour. */
  ratio: number;
}

type Neighbour = (signal: AbortSignal) => Promise<unknown>;

/** Whether one company's flood delays another's messages: all in one process, each neighbour in turn. */
export async function compareNeighbours(
  databases: BenchDatabases,
  options: { rounds: number },
): Promise<FairnessRow[]> {
  // The network runs in its own process, so that its work on a flood is not counted as ours.
  const network = await startNetwork();
  const sandboxUrl = network.url;
  const { url, process, db } = await launchStandalone(databases, 'bench_fairness', {
    PACING_MIN_MS: '0',
    SANDBOX_URL: `${sandboxUrl.replace('http', 'ws')}/ws`,
  });
  const [ours, theirs] = [await startReceiver(), await startReceiver()];
  const slow = createServer((req, res) => {
    req.resume();
    setTimeout(() => res.end(), SLOW_ANSWER_MS);
  }).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  try {
    const at = { url, sandboxUrl, instances: INSTANCES };
    const company = await prepare(db, { ...at, receiver: ours });
    const other = await prepare(db, { ...at, receiver: theirs });
    const slowUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
    const behindSlow = await prepare(db, { ...at, receiver: { ...theirs, url: slowUrl } });
    const { rows } = await db.query<{ phone: string }>('SELECT phone FROM instances WHERE id = $1', [
      other.instanceIds[0],
    ]);
    const neighbours: Record<string, Neighbour> = {
      none: async () => undefined,
      [`sends ${PART_OF_THE_MACHINE} a second`]: (signal) => steadily(other, signal),
      'sends as fast as it is accepted': (signal) => asFastAsItGoes(other, signal),
      'receives as fast as its network delivers': (signal) => receives(sandboxUrl, rows[0]!.phone, signal),
      [`sends ${PART_OF_THE_MACHINE} a second, to an endpoint that takes 5 s`]: (signal) =>
        steadily(behindSlow, signal),
    };
    const measured = new Map<string, { p50Ms: number; p99Ms: number }[]>();
    await measureLatency(company, ours, { perSecond: PER_SECOND, seconds: 2 });
    for (let round = 0; round < options.rounds; round += 1) {
      for (const [name, neighbour] of Object.entries(neighbours)) {
        const ending = new AbortController();
        const flood = neighbour(ending.signal);
        await delay(AHEAD_MS);
        const latency = await measureLatency(company, ours, { perSecond: PER_SECOND, seconds: SECONDS });
        measured.set(name, [...(measured.get(name) ?? []), latency]);
        ending.abort();
        await flood;
      }
    }
    const alone = median(measured.get('none')!.map(({ p99Ms }) => p99Ms));
    return [...measured].map(([neighbour, rounds]) => {
      const p99Ms = median(rounds.map((round) => round.p99Ms));
      return { neighbour, p50Ms: median(rounds.map((round) => round.p50Ms)), p99Ms, ratio: p99Ms / alone };
    });
  } finally {
    await process.kill('SIGTERM');
    await network.running.kill();
    slow.close();
    ours.close();
    theirs.close();
  }
}

async function startNetwork(): Promise<{ url: string; running: RunningProcess }> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const running = await startProcess({
    entry: 'network/sandbox/main.ts',
    env: { SANDBOX_PORT: String(port), DATA_DIR: await mkdtemp(path.join(tmpdir(), 'posthorn-bench-')) },
    ready: { url: `${url}/health` },
  });
  return { url, running };
}

/** A second's worth, each second. */
async function steadily(target: Target, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const second = delay(1_000);
    await sendTexts(target, PART_OF_THE_MACHINE);
    await second;
  }
}

async function asFastAsItGoes(target: Target, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await sendTexts(target, 200);
}

async function receives(sandboxUrl: string, phone: string, signal: AbortSignal): Promise<void> {
  const control = controlOf(sandboxUrl);
  for (let nth = 0; !signal.aborted; nth += 1)
    await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        control.post(`/phones/55119333${String(at).padStart(5, '0')}/messages`, {
          to: phone,
          text: `question ${nth}`,
        }),
      ),
    );
}
