import { spawnSync } from 'node:child_process';
import { installDebianPackage, isDebianRoot } from './debian-package.ts';

/**
 * Makes sure that there is a `python3`, installing Debian's when we are root there. Throws one line with the package to
 * install: no test is skipped because it is missing.
 */
export function ensurePython(): void {
  const isThere = () => spawnSync('python3', ['--version']).status === 0;
  if (isThere()) return;
  if (isDebianRoot()) installDebianPackage('python3');
  if (!isThere()) throw new Error('The tests need python3 on PATH');
}
