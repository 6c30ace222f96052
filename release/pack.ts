/**
 * `npm run release:pack [-- --into <folder>]`: builds the SDK and msgctl, checks both packages as a registry's users
 * would get them, and packs them into a folder, with the context of the image, its bill of materials, the notes of the
 * release and the checksums of all of it. It stops there: publishing is a command of its own.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { billOfMaterials } from './bill-of-materials.ts';
import { imageWorkspaces, packImageContext } from './image-context.ts';

const root = path.resolve(import.meta.dirname, '..');
const SUMS = 'SHA256SUMS';
/** All that this makes, so that nothing of an earlier version is left beside it. */
const MADE = ['posthorn-*.tgz', 'posthorn-image-*', 'NOTES.md', SUMS];

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
  const notes = ['sdk', 'cli'].map(notesOf);
  // Builds the SDK as well, which it bundles.
  run(process.execPath, ['cli/build.ts']);
  mkdirSync(into, { recursive: true });
  for (const old of globSync(MADE, { cwd: into })) rmSync(path.join(into, old));
  const packed = ['sdk', 'cli'].map(pack);
  // msgctl is a program: it has no types to get wrong.
  run(bin('attw'), [path.join(into, (packed[0] as Packed).filename)]);
  for (const { name, version, filename, size, unpackedSize, entryCount } of packed)
    console.log(
      `${name} ${version}: ${path.join(into, filename)}, ${kB(size)} kB packed, ${kB(unpackedSize)} kB in ${entryCount} files`,
    );
  const { version } = readJson('package.json');
  const context = path.join(into, `posthorn-image-context-${version}.tar.gz`);
  packImageContext(root, context);
  console.log(`context of the image ${version}: ${context}, ${kB(statSync(context).size)} kB`);
  const bill = billOfMaterials(readJson('package-lock.json').packages, {
    name: 'posthorn',
    version,
    workspaces: imageWorkspaces(root),
  });
  const billFile = path.join(into, `posthorn-image-${version}.cdx.json`);
  writeFileSync(billFile, `${JSON.stringify(bill, null, 2)}\n`);
  console.log(`bill of materials: ${billFile}, ${bill.components.length} packages`);
  writeFileSync(path.join(into, 'NOTES.md'), notes.join('\n'));
  const sums = globSync(MADE, { cwd: into })
    .filter((name) => name !== SUMS)
    .sort()
    .map((name) => `${sha256(path.join(into, name))}  ${name}\n`);
  writeFileSync(path.join(into, SUMS), sums.join(''));
  console.log(`checksums: sha256sum --check ${SUMS}`);
  const changed = run('git', ['status', '--porcelain', '--untracked-files=no']).split('\n').length - 1;
  if (changed > 0) console.log(`${changed} files differ from the commit, and were packed as they are`);
  const pending = globSync('*.md', { cwd: path.join(root, '.changeset') }).length;
  if (pending > 0) console.log(`${pending} changesets are not in these versions: npm run release:version`);
  console.log('nothing was published; to do so: npm publish <file>');
}

/**
 * The notes of the package's version in its changelog. Throws without them: a version that nobody described is not
 * released.
 */
function notesOf(folder: string): string {
  const { name, version } = readJson(folder, 'package.json');
  const changelog = readFileSync(path.join(root, folder, 'CHANGELOG.md'), 'utf8');
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => text.startsWith(`${version}\n`));
  if (section === undefined) throw new Error(`${folder}/CHANGELOG.md says nothing of ${version}`);
  return `## ${name} ${section.trimEnd()}\n`;
}

function readJson(...file: string[]) {
  return JSON.parse(readFileSync(path.join(root, ...file), 'utf8'));
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
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

/** Runs a program and returns its stdout. Throws with all of its output when it fails. */
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
