import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ensureProgram, installDebianPackage, isDebianRoot } from './debian-package.ts';
import { reap } from './reaper.ts';

/** The headless shell has no windows, and takes half the CPU of the whole browser. */
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

/** The Chromium on PATH, installed first where we may. Throws one line with the program to install. */
export async function findChromium(): Promise<string> {
  const find = () => NAMES.find((name) => spawnSync('which', [name]).status === 0);
  const found = find();
  if (found) return found;
  if (isDebianRoot()) installDebianPackage('chromium-headless-shell');
  if (!find()) await ensureProgram('chromium');
  const installed = find();
  if (!installed) throw new Error('The tests need chromium on PATH');
  return installed;
}

/** Opens a page without a window, its data in the folder `profile`. It stays open until `close`. */
export async function openPage(
  url: string,
  moreFlags: readonly string[] = [],
): Promise<{ profile: string; close(): Promise<void> }> {
  const profile = mkdtempSync(path.join(tmpdir(), 'posthorn-chromium-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    `--user-data-dir=${profile}`,
  ];
  // In a group of its own: Debian's program is a shell that starts the browser, and would leave it behind.
  const browser = spawn(await findChromium(), [...flags, ...moreFlags, url], {
    stdio: 'ignore',
    detached: true,
  });
  const ended = new Promise((resolve) => browser.once('close', resolve));
  const group = -browser.pid!;
  const forget = reap({ pid: group, dir: profile });
  return {
    profile,
    async close() {
      process.kill(group, 'SIGKILL');
      await ended;
      forget();
      // Its helper processes write for a moment longer than it lives.
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
