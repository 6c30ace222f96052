import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const DOCKERFILE = 'deploy/Dockerfile';

/** The workspaces whose packages end up in the image: those of the Dockerfile's installation without development. */
export function imageWorkspaces(root: string): string[] {
  const steps = readFileSync(path.join(root, DOCKERFILE), 'utf8').replaceAll('\\\n', ' ').split('\n');
  const install = steps.find((step) => step.includes('--omit=dev'));
  const workspaces = [...(install ?? '').matchAll(/--workspace (\S+)/g)].map(([, name]) => name!);
  if (workspaces.length === 0) throw new Error(`${DOCKERFILE} installs no workspaces with --omit=dev`);
  return workspaces;
}

/**
 * Packs what the Dockerfile copies, the Dockerfile and its list of exceptions: enough for `docker build` without a checkout.
 * Files that git does not know stay out, for they may be secrets. Throws outside of a checkout.
 */
export function packImageContext(root: string, file: string): void {
  const wanted = [
    DOCKERFILE,
    '.dockerignore',
    ...copiedBy(readFileSync(path.join(root, DOCKERFILE), 'utf8')),
  ];
  const listed = execFileSync('git', ['ls-files', '-z', '--', ...new Set(wanted)], { cwd: root });
  if (listed.length === 0) throw new Error('the context of the image is packed from a checkout of git');
  // One order, one owner and one time: the same sources give the same bytes.
  const same = [
    '--sort=name',
    '--owner=0',
    '--group=0',
    '--numeric-owner',
    '--mtime=@0',
    '--mode=go=rX,u+rw',
  ];
  const gzip = ['--use-compress-program', 'gzip --no-name'];
  execFileSync('tar', ['--create', ...same, ...gzip, '--file', file, '--null', '--files-from', '-'], {
    cwd: root,
    input: listed,
  });
}

/** The sources of each COPY that takes from the context. */
function copiedBy(dockerfile: string): string[] {
  return [...dockerfile.matchAll(/^COPY (?!--from)(.+)$/gm)].flatMap(([, args]) =>
    args!.split(/\s+/).slice(0, -1),
  );
}
