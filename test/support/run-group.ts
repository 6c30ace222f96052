import { createRequire } from 'node:module';
import path from 'node:path';
import { describe } from 'node:test';
import { keepForAllFiles } from './keep-in-group.ts';
import { projectRoot } from './process.ts';

const require = createRequire(import.meta.url);

/**
 * Runs test files in this process, one after another, each as a suite named by its path. Loads them with `require`: the
 * top level of an imported module runs outside of its suite, so its hooks would apply to all files.
 */
export function runGroup(files: readonly string[]): void {
  keepForAllFiles();
  for (const file of files) describe(path.relative(projectRoot, file), () => require(file));
}
