import { readFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '../support/process.ts';

export interface BundledPackages {
  /** `name version` of each. */
  all: ReadonlySet<string>;
  /** The names of the packages with code in these files of the bundle, sorted. */
  of(files: readonly string[]): string[];
}

/** The packages in a build of msgctl, read from the output of `build.ts --metafile`. */
export function bundledPackages(metafile: string): BundledPackages {
  const { outputs } = JSON.parse(readFileSync(metafile, 'utf8')) as {
    outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
  };
  /** By file name. */
  const roots = new Map(
    Object.entries(outputs).map(([output, { inputs }]) => [
      path.basename(output),
      new Set(Object.keys(inputs).flatMap((input) => (inputs[input]?.bytesInOutput ? rootOf(input) : []))),
    ]),
  );
  const manifestOf = (root: string) => JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const named = (found: Iterable<string>) => [...new Set([...found].map((root) => manifestOf(root).name))];
  return {
    all: new Set(
      [...roots.values()].flatMap((found) =>
        [...found].map((root) => `${manifestOf(root).name} ${manifestOf(root).version}`),
      ),
    ),
    of: (files) => named(new Set(files.flatMap((file) => [...(roots.get(file) ?? [])]))).sort(),
  };
}

/** The folder of a file's package; none for our own files. The paths begin in cli/. */
function rootOf(input: string): string[] {
  const at = input.lastIndexOf('node_modules/');
  if (at < 0) return [];
  const [, scopeOrName = '', name = ''] = input.slice(at).split('/');
  const inside = scopeOrName.startsWith('@') ? path.join(scopeOrName, name) : scopeOrName;
  return [path.join(projectRoot, 'cli', input.slice(0, at), 'node_modules', inside)];
}
