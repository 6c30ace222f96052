/**
 * `npm run release:pack [-- --into <folder>]`: builds the SDK and msgctl, checks both packages as a registry's users
 * would get them, and packs them into a folder. It stops there: publishing is a command of its own.
 */
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';

const root = path.resolve(import.meta.dirname, '..');

interface Packed {
  filename: string;
  name: string;
  version: string;
  /** Bytes of the packed file. */
  size: number;
  unpackedSize: number;
  entryCount: number;
}

const { values } = parseArgs({
  options: { into: { type: 'string', default: path.join(root, 'release/packed') } },
});
const into = path.resolve(values.into);

try {
  main();
} catch (error) {
  console.error(`release:pack: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}

function main(): void {
  for (const folder of ['sdk', 'cli']) checkChangelog(folder);
  // Builds the SDK as well, which it bundles.
  run(process.execPath, ['cli/build.ts']);
  mkdirSync(into, { recursive: true });
  for (const old of globSync('posthorn-*.tgz', { cwd: into })) rmSync(path.join(into, old));
  const packed = ['sdk', 'cli'].map(pack);
  // msgctl is a program: it has no types to get wrong.
  run(bin('attw'), [path.join(into, (packed[0] as Packed).filename)]);
  for (const { name, version, filename, size, unpackedSize, entryCount } of packed)
    console.log(
      `${name} ${version}: ${path.join(into, filename)}, ${kB(size)} kB packed, ${kB(unpackedSize)} kB in ${entryCount} files`,
    );
  const pending = globSync('*.md', { cwd: path.join(root, '.changeset') }).length;
  if (pending > 0) console.log(`${pending} changesets are not in these versions: npm run release:version`);
  console.log('nothing was published; to do so: npm publish <file>');
}

/** A version that nobody described is not released. */
function checkChangelog(folder: string): void {
  const { version } = JSON.parse(readFileSync(path.join(root, folder, 'package.json'), 'utf8'));
  const changelog = readFileSync(path.join(root, folder, 'CHANGELOG.md'), 'utf8');
  if (!changelog.split('\n').includes(`## ${version}`))
    throw new Error(`${folder}/CHANGELOG.md says nothing of ${version}`);
}

function pack(folder: string): Packed {
  const dist = path.join(root, folder, 'dist');
  run(bin('publint'), ['run', dist, '--pack', 'false', '--strict']);
  const told = run('npm', ['pack', dist, '--pack-destination', into, '--json']);
  // npm prints one object, in a list or under the package's name, depending on its version.
  const [packed] = Object.values(JSON.parse(told) as Record<string, Packed>);
  if (!packed) throw new Error(`npm packed nothing of ${folder}`);
  return packed;
}

function bin(name: string): string {
  return path.join(root, 'node_modules/.bin', name);
}

/** What it printed. Throws with all that it said when it fails. */
function run(program: string, args: readonly string[]): string {
  try {
    return execFileSync(program, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string };
    throw new Error(`${path.basename(program)} ${args.join(' ')} failed:\n${stdout}${stderr}`, {
      cause: error,
    });
  }
}

function kB(bytes: number): string {
  return (bytes / 1_000).toFixed(1);
}
