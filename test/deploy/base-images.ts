import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { ensureProgram } from '@posthorn/test/support/debian-package.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';

const run = promisify(execFile);

/** The Debian of the Dockerfile's own bases. */
const SUITE = 'trixie';
const MIRROR = 'http://deb.debian.org/debian';
/** Outside of the checkout: other tests copy the checkout, and links inside an image may lead anywhere. */
const STORAGE = path.join(process.env.XDG_CACHE_HOME ?? path.join(homedir(), '.cache'), 'posthorn-images');
const MAX_OUTPUT_BYTES = 32 * 1024 * 1024;

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** Folders that the slim images of Debian leave out too. */
const LEFT_OUT = ['usr/share/doc', 'usr/share/man', 'usr/share/locale', 'usr/share/info', 'var/cache/apt'];

/** Runs buildah on a storage for tests, without any service; returns its stdout. */
export async function buildah(...args: string[]): Promise<string> {
  const storage = ['--root', `${STORAGE}/root`, '--runroot', `${STORAGE}/run`, '--storage-driver', 'vfs'];
  const { stdout } = await run('buildah', [...storage, ...args], { maxBuffer: MAX_OUTPUT_BYTES });
  return stdout.trim();
}

export interface BaseImages {
  /** Replaces `debian:trixie-slim`. */
  base: string;
  /** Replaces `node:24-trixie-slim`: the same with Node.js and npm. */
  buildBase: string;
}

/**
 * Makes the base images from Debian's packages, without a registry of images, and keeps them for the next run. Needs
 * root.
 */
export async function ensureBaseImages(): Promise<BaseImages> {
  if (process.getuid?.() !== 0)
    throw new Error('The test of the image needs root: it makes a Debian and mounts it');
  await ensureProgram('buildah');
  await ensureProgram('debootstrap');
  mkdirSync(STORAGE, { recursive: true });
  // Leftovers of an interrupted run.
  await buildah('rm', '--all');
  await buildah('rmi', '--prune', '--force');
  const images = { base: `localhost/base:${SUITE}`, buildBase: `localhost/build-base:${SUITE}` };
  const there = await buildah('images', '--format', '{{.Name}}:{{.Tag}}');
  if (!there.includes(images.base)) await makeImage(images.base, makeDebian);
  if (!there.includes(images.buildBase)) await makeImage(images.buildBase, addNode, images.base);
  return images;
}

/** Makes an image from `from` and the files that `fill` adds to it. */
async function makeImage(
  name: string,
  fill: (dir: string) => Promise<void>,
  from = 'scratch',
): Promise<void> {
  const container = await buildah('from', '--pull-never', from);
  try {
    await fill(await buildah('mount', container));
    await buildah('config', '--env', PATH, container);
    await buildah('commit', '--quiet', container, name);
  } finally {
    await buildah('rm', container);
  }
}

async function makeDebian(dir: string): Promise<void> {
  const made = mkdtempSync(path.join(tmpdir(), 'posthorn-debian-'));
  try {
    await run('debootstrap', ['--variant=minbase', SUITE, made, MIRROR], { maxBuffer: MAX_OUTPUT_BYTES });
    for (const folder of LEFT_OUT) rmSync(path.join(made, folder), { recursive: true, force: true });
    rmSync(path.join(made, 'var/lib/apt/lists'), { recursive: true, force: true });
    await run('cp', ['--archive', `${made}/.`, dir]);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

/** Our own Node.js with this machine's npm, configured with the way to the registry. */
async function addNode(dir: string): Promise<void> {
  const npm = realpathSync(
    path.join(execFileSync('npm', ['root', '--global'], { encoding: 'utf8' }).trim(), 'npm'),
  );
  const local = path.join(dir, 'usr/local');
  cpSync(process.execPath, path.join(local, 'bin/node'));
  cpSync(npm, path.join(local, 'lib/node_modules/npm'), { recursive: true });
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', path.join(local, 'bin/npm'));
  const authorities = '/etc/ssl/certs/ca-certificates.crt';
  const registry = execFileSync('npm', ['config', 'get', 'registry'], { cwd: projectRoot, encoding: 'utf8' });
  const settings = [`registry=${registry.trim()}`];
  if (existsSync(authorities)) {
    cpSync(authorities, path.join(dir, authorities));
    settings.push(`cafile=${authorities}`);
  }
  mkdirSync(path.join(local, 'etc'), { recursive: true });
  writeFileSync(path.join(local, 'etc/npmrc'), `${settings.join('\n')}\n`);
}
