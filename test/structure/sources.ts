import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import { projectRoot } from '../support/process.ts';

const FOLDERS =
  '{admin,bench,cli,console,contract,core,network,openapi,release,sdk,server,standalone,worker}';

/** A source file, by its path from the project's root. Tests do not count. */
export interface Source {
  file: string;
  text: string;
}

/** Every source file that people write, in the order of their names. */
export function readSources(): Source[] {
  return globSync(`${FOLDERS}/**/*.{ts,tsx}`, {
    cwd: projectRoot,
    exclude: (name) => name === 'node_modules' || name === 'dist',
  })
    .map((file) => file.split(path.sep).join('/'))
    .filter((file) => !/(^|\/)(node_modules|dist)\//.test(file))
    .sort()
    .map((file) => ({ file, text: readFileSync(path.join(projectRoot, file), 'utf8') }));
}

export function parse({ file, text }: Source): ts.SourceFile {
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
}

/** The imports of a file from this repository, as paths from the project's root; types included. */
export function importsOf({ file, text }: Source): string[] {
  const found = text.matchAll(/^(?:import|export)\b[^;]*?from '([^']+)';/gm);
  return [...found].flatMap(([, specifier = '']) => {
    if (specifier.startsWith('@posthorn/')) return [specifier.slice('@posthorn/'.length)];
    if (specifier.startsWith('.')) return [path.posix.join(path.posix.dirname(file), specifier)];
    return [];
  });
}
