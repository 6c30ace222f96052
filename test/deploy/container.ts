import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '@posthorn/test/support/process.ts';
import { reap } from '@posthorn/test/support/reaper.ts';

/** An image's settings, as in the Dockerfile. */
export interface ImageConfig {
  User: string;
  Env: string[];
  Entrypoint: string[];
  WorkingDir: string;
  Healthcheck: { Test: string[] };
}

/** An image whose files are at `rootfs`. */
export interface BuiltImage {
  rootfs: string;
  config: ImageConfig;
}

export interface Container {
  output(): string;
  /** Resolves with its exit code when it ends by itself. */
  ended: Promise<number | null>;
  /** Sends SIGTERM, as `docker stop` does: returns the exit code, and how long the end took. */
  stop(): Promise<{ code: number | null; tookMs: number }>;
}

/**
 * A container made with the kernel's own means: the image's files mounted read-only, a /tmp in memory, a volume at
 * /data, a process tree of its own whose first process is the entry point, the image's user and environment. It shares
 * this machine's network.
 */
const START = `
set -e
mount --bind "$ROOTFS" "$ROOTFS"
mount --rbind /dev "$ROOTFS/dev"
mount -t proc proc "$ROOTFS/proc"
mount -t tmpfs -o mode=1777 tmpfs "$ROOTFS/tmp"
[ -z "$VOLUME" ] || mount --bind "$VOLUME" "$ROOTFS/data"
mount --bind /etc/hosts "$ROOTFS/etc/hosts"
mount -o remount,bind,ro "$ROOTFS"
exec env --ignore-environment "$@"
`;
const ISOLATION = ['--mount', '--propagation', 'private', '--pid', '--fork', '--kill-child'];
const END_MAX_MS = 60_000;

/** Starts `posthorn <args>` of the image; `entrypoint` runs another program in its place. */
export function runContainer(
  image: BuiltImage,
  args: readonly string[],
  options: { env?: Record<string, string>; volume?: string; entrypoint?: string[] } = {},
): Container {
  const { config, rootfs } = image;
  const own = Object.entries(options.env ?? {}).map(([name, value]) => `${name}=${value}`);
  const command = [
    ...[...config.Env, ...own],
    ...['chroot', `--userspec=${config.User}`, rootfs],
    ...(options.entrypoint ?? config.Entrypoint),
    ...args,
  ];
  const env = { PATH: process.env.PATH, ROOTFS: rootfs, VOLUME: options.volume ?? '' };
  const child = spawn('unshare', [...ISOLATION, 'sh', '-c', START, 'sh', ...command], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const forget = reap({ pid: child.pid });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk;
    });
  const ended = once(child, 'close').then(([code]) => {
    forget();
    return code as number | null;
  });

  /** The first process of the container, as this machine numbers it. */
  const firstPid = () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim());

  return {
    output: () => output,
    ended,
    async stop() {
      const since = performance.now();
      if (child.exitCode === null) process.kill(firstPid(), 'SIGTERM');
      const code = await Promise.race([ended, delay(END_MAX_MS, null, { ref: false })]);
      if (child.exitCode === null) child.kill('SIGKILL');
      return { code, tookMs: performance.now() - since };
    },
  };
}

/** Runs a command of the image to its end and returns its output. Throws when it fails. */
export async function runToEnd(...args: Parameters<typeof runContainer>): Promise<string> {
  const container = runContainer(...args);
  const code = await container.ended;
  if (code !== 0) throw new Error(`${args[1].join(' ')} ended with ${code}: ${container.output()}`);
  return container.output();
}

/** Waits until the URL answers 200. Throws with the container's output when it ends before. */
export async function untilReady(container: Container, url: string): Promise<void> {
  let isOver = false;
  void container.ended.then(() => {
    isOver = true;
  });
  await waitFor(async () => isOver || (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok, 90_000, {
    what: `${url} answers 200`,
    everyMs: 100,
  }).catch((cause) => {
    throw new Error(`not ready: ${container.output()}`, { cause });
  });
  if (isOver) throw new Error(`it ended: ${container.output()}`);
}
