import { readFileSync } from 'node:fs';

interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  timeDeltas: number[];
}

type Part = { part: string; fits: (url: string, name: string) => boolean };

/**
 * Assigns functions to parts; the first match counts. Socket writes and reads are native and have no file.
 */
export const ACCEPT_PARTS: readonly Part[] = [
  { part: 'idle', fits: (_, name) => name === '(idle)' },
  { part: 'garbage collection', fits: (_, name) => name === '(garbage collector)' },
  { part: 'sockets (system calls)', fits: (url, name) => url === '' && /^(write|shutdown|read)/.test(name) },
  {
    part: 'express and ts-rest',
    fits: (url) => /\/(express|router|path-to-regexp|parseurl|@ts-rest)\//.test(url),
  },
  { part: 'validation (zod, contract)', fits: (url) => /\/zod\/|\/contract\//.test(url) },
  {
    part: 'pipeline (key, rate limit, headers)',
    fits: (url) => /\/server\/|\/core\/(accounts|access|limits)\//.test(url),
  },
  { part: 'accept (guard, idempotency, rows)', fits: (url) => /\/core\//.test(url) },
  { part: 'database client', fits: (url) => /\/pg(-\w+)?\//.test(url) },
  { part: 'node (http, streams, timers)', fits: (url) => url.startsWith('node:') },
];

/** The same for all work of one process from the request to the webhook. */
export const PIPELINE_PARTS: readonly Part[] = [
  ...ACCEPT_PARTS.slice(0, 5),
  { part: 'API (headers, key, rate limit)', fits: (url) => /\/server\//.test(url) },
  { part: 'the simulated network', fits: (url) => /\/network\/sandbox\/(?!client|driver)/.test(url) },
  { part: 'sessions (driver, frames)', fits: (url) => /\/network\/|\/worker\/sessions\//.test(url) },
  { part: 'WebSocket library', fits: (url) => /\/node_modules\/ws\//.test(url) },
  { part: 'dispatch and relay', fits: (url) => /\/worker\/(dispatch|relay|ownership)\//.test(url) },
  { part: 'webhooks', fits: (url) => /\/webhooks\//.test(url) },
  { part: 'HTTP client (undici)', fits: (url) => /\/undici\//.test(url) },
  { part: 'accept, recorders, events', fits: (url) => /\/core\//.test(url) },
  ...ACCEPT_PARTS.slice(-2),
];

/** CPU time by part in microseconds, from a V8 CPU profile. */
export function partsOfProfile(file: string, parts: readonly Part[] = ACCEPT_PARTS): Map<string, number> {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as CpuProfile;
  const partOf = new Map(
    profile.nodes.map(({ id, callFrame }) => [
      id,
      parts.find(({ fits }) => fits(callFrame.url, callFrame.functionName))?.part ?? 'other',
    ]),
  );
  const sums = new Map<string, number>();
  profile.samples.forEach((node, i) => {
    const part = partOf.get(node) ?? 'other';
    sums.set(part, (sums.get(part) ?? 0) + (profile.timeDeltas[i] ?? 0));
  });
  sums.delete('idle');
  return sums;
}
