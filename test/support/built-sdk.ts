import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { baseEnv, projectRoot } from './process.ts';

const DIST = path.join(projectRoot, 'sdk/dist');

/**
 * The folder of the built SDK, built anew when a source of it is younger. Only for tests that run alone: others
 * build into the same folder.
 */
export function ensureBuiltSdk(): string {
  const built = path.join(DIST, 'package.json');
  const sources = ['sdk', 'contract'].flatMap((folder) =>
    globSync(`${folder}/**/*.{ts,json,md}`, {
      cwd: projectRoot,
      exclude: (name) => name === 'node_modules' || name === 'dist',
    }),
  );
  const newestMs = Math.max(...sources.map((file) => statSync(path.join(projectRoot, file)).mtimeMs));
  // The manifest is written last.
  if (!existsSync(built) || statSync(built).mtimeMs < newestMs)
    execFileSync(process.execPath, ['sdk/build.ts'], { cwd: projectRoot, env: baseEnv() });
  return DIST;
}

/** Links the built SDK, and the other packages of a program's manifest, as `npm install` would put them there. */
export function linkDependencies(folder: string): void {
  const { dependencies = {} } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  mkdirSync(path.join(folder, 'node_modules/@posthorn'), { recursive: true });
  for (const name of Object.keys(dependencies)) {
    const target = name === '@posthorn/sdk' ? ensureBuiltSdk() : path.join(projectRoot, 'node_modules', name);
    symlinkSync(target, path.join(folder, 'node_modules', name));
  }
}
