import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

const POLICY = '/usr/sbin/policy-rc.d';

/** Whether we are root on a Debian or one of its children. */
export function canInstallPackages(): boolean {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version');
}

/** Installs the package without letting it start the system's service. */
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
