import { chownSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { projectRoot } from '@posthorn/test/support/process.ts';
import { buildah, ensureBaseImages } from './base-images.ts';
import type { BuiltImage } from './container.ts';

/** The user of the Dockerfile. */
export const IMAGE_USER = 10_001;

/** Is planted in the copied checkout, in the usual places of secrets. */
export const PLANTED = 'planted-secret-that-no-image-may-have';
const PLANTED_IN = [
  '.env',
  '.data/secrets.json',
  'deploy/.env',
  'core/.env.local',
  'worker/.data/mail/a.eml',
];

const NAME = 'localhost/posthorn';

export interface TestImage extends BuiltImage {
  /** An empty volume for the roles. */
  makeVolume(): string;
  remove(): Promise<void>;
}

/** Builds deploy/Dockerfile unchanged, from a copy of this checkout. Needs root, and the registry of npm. */
export async function buildImage(): Promise<TestImage> {
  const { base, buildBase } = await ensureBaseImages();
  const work = mkdtempSync(path.join(tmpdir(), 'posthorn-image-'));
  const context = makeContext(work);
  await buildah(
    ...['bud', '--isolation', 'chroot', '--format', 'docker', '--pull-never', '--layers=false', '--quiet'],
    ...['--build-arg', `BASE=${base}`, '--build-arg', `BUILD_BASE=${buildBase}`],
    ...['--file', path.join(context, 'deploy/Dockerfile'), '--tag', NAME, context],
  );
  const container = await buildah('from', '--pull-never', NAME);
  const { Docker } = JSON.parse(await buildah('inspect', '--type', 'image', NAME));
  return {
    rootfs: await buildah('mount', container),
    config: Docker.config,
    makeVolume() {
      const dir = mkdtempSync(path.join(work, 'volume-'));
      chownSync(dir, IMAGE_USER, IMAGE_USER);
      return dir;
    },
    async remove() {
      await buildah('rm', container);
      await buildah('rmi', NAME);
      rmSync(work, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}

function makeContext(work: string): string {
  const context = path.join(work, 'context');
  const left = new Set(['node_modules', '.git', '.data', 'dist']);
  cpSync(projectRoot, context, { recursive: true, filter: (source) => !left.has(path.basename(source)) });
  for (const file of PLANTED_IN) {
    mkdirSync(path.dirname(path.join(context, file)), { recursive: true });
    writeFileSync(path.join(context, file), PLANTED);
  }
  return context;
}
