import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { installDebianPackage, isDebianRoot } from './debian-package.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The Chromium on PATH, installed first where we may. Throws one line that says what to install. */
export function findChromium(): string {
  const find = () => NAMES.find((name) => spawnSync(name, ['--version']).status === 0);
  const found = find();
  if (found) return found;
  if (isDebianRoot()) installDebianPackage('chromium');
  const installed = find();
  if (!installed) throw new Error('The tests need chromium on PATH');
  return installed;
}

/** Opens a page without a window, its data in the folder `profile`. It stays open until `close`. */
export function openPage(
  url: string,
  moreFlags: readonly string[] = [],
): { profile: string; close(): Promise<void> } {
  const profile = mkdtempSync(path.join(tmpdir(), 'posthorn-chromium-'));
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--no-first-run',
    `--user-data-dir=${profile}`,
  ];
  const browser = spawn(findChromium(), [...flags, ...moreFlags, url], { stdio: 'ignore' });
  const ended = new Promise((resolve) => browser.once('close', resolve));
  return {
    profile,
    async close() {
      browser.kill('SIGKILL');
      await ended;
      // Its helpers write for a moment longer than it lives.
      rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}
