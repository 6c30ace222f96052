import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const POLICY = '/usr/sbin/policy-rc.d';

/** True where a missing program can be installed without asking. */
export function isDebianRoot(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

/** Installs a package without letting it start the system's service. Reports why when it can't. */
export function installDebianPackage(name: string): void {
  console.log(`${name} is missing: installing it with apt-get`);
  const ownPolicy = '#!/bin/sh\n# no service is started while the tests install a package\nexit 101\n';
  const hadPolicy = existsSync(POLICY);
  if (!hadPolicy) writeFileSync(POLICY, ownPolicy, { mode: 0o755 });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]) => execFileSync('apt-get', ['-q', ...args], { env, stdio: 'pipe' });
  try {
    apt('update');
    apt('install', '-y', '--no-install-recommends', name);
  } catch (err) {
    const stderr = String((err as { stderr?: Buffer }).stderr ?? '').trim();
    console.error(`apt-get failed: ${stderr.split('\n').at(-1)}`);
  } finally {
    if (!hadPolicy && readFileSync(POLICY, 'utf8') === ownPolicy) rmSync(POLICY);
  }
}

const TRIES = 12;
const PAUSE_MS = 5_000;

/**
 * Makes sure that a program is on PATH, installing the package of its name, or the one given, where we may. Throws one
 * line otherwise.
 */
export async function ensureProgram(name: string, packageName = name): Promise<void> {
  const isThere = () => spawnSync('which', [name]).status === 0;
  // Another test file may be installing something: only one can at a time.
  for (let nth = 0; nth < TRIES && isDebianRoot() && !isThere(); nth += 1) {
    installDebianPackage(packageName);
    if (!isThere()) await delay(PAUSE_MS);
  }
  if (!isThere()) throw new Error(`The tests need ${name} on PATH`);
}
