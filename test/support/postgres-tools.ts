import { execFileSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import path from 'node:path';
import { installDebianPackage, isDebianRoot } from './debian-package.ts';

/**
 * The folder whose `bin` holds a whole PostgreSQL, 14 or newer, pg_dump included: the server that comes from npm has no
 * tools, and those of another version refuse it. Installs Debian's package where it may; throws one line with the
 * package to install, because no test is skipped when it is missing.
 */
export function ensurePostgresTools(): string {
  const found = findTools();
  if (found) return found;
  if (isDebianRoot()) {
    installDebianPackage('postgresql');
    const installed = findTools();
    if (installed) return installed;
  }
  throw new Error(
    'The tests need a PostgreSQL >= 14 with pg_dump: install postgresql (apt-get install postgresql, brew install postgresql).',
  );
}

function findTools(): string | undefined {
  const onPath = (process.env.PATH ?? '').split(path.delimiter).map((bin) => path.dirname(bin));
  const debian = globSync('/usr/lib/postgresql/*');
  return [...debian, ...onPath].find((root) => {
    const programs = ['postgres', 'initdb', 'pg_dump', 'pg_restore'].map((name) =>
      path.join(root, 'bin', name),
    );
    return programs.every((program) => existsSync(program)) && majorOf(programs[0]!) >= 14;
  });
}

function majorOf(postgres: string): number {
  return Number(/ (\d+)/.exec(execFileSync(postgres, ['--version'], { encoding: 'utf8' }))?.[1]);
}
