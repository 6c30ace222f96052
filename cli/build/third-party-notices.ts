import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

/** The part of esbuild's metafile that is read here. */
export interface Metafile {
  outputs: Record<string, { inputs: Record<string, { bytesInOutput: number }> }>;
}

interface Manifest {
  name: string;
  version: string;
  license?: string;
  homepage?: string;
}

/** File names of licences and of notices that have to be passed on with them. */
const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)\b/i;

/** Copyright lines, from their sources, of packages that name a licence without its text. */
const STATED: Readonly<Record<string, string>> = {
  'yoga-layout': 'Copyright (c) Meta Platforms, Inc. and affiliates.',
};

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/**
 * The licences of every package with code in the bundle, as one text. `folder` is the one that esbuild ran in. Throws
 * for a package that names no licence.
 */
export function thirdPartyNotices(metafile: Metafile, folder: string): string {
  const notices = bundledPackages(metafile).map((root) => noticeOf(path.resolve(folder, root)));
  return [
    'msgctl contains parts of the packages below. Each is under the licence that stands with it.',
    ...new Set(notices.sort()),
  ].join(`\n\n${'-'.repeat(80)}\n\n`);
}

/** The folders of the packages, as esbuild writes them; one for each version. */
function bundledPackages({ outputs }: Metafile): string[] {
  const files = Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((file) => (inputs[file]?.bytesInOutput ?? 0) > 0),
  );
  return [...new Set(files.flatMap(rootOf))];
}

/** The folder of the package that a file belongs to; none for our own files. */
function rootOf(file: string): string[] {
  const at = file.lastIndexOf('node_modules/');
  if (at < 0) return [];
  const parts = file.slice(at).split('/');
  return [file.slice(0, at) + parts.slice(0, parts[1]?.startsWith('@') ? 3 : 2).join('/')];
}

function noticeOf(root: string): string {
  const manifest: Manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8'));
  const { name, version, license, homepage } = manifest;
  if (!license) throw new Error(`${name} ${version} is bundled and names no licence`);
  const files = readdirSync(root).filter((file) => LICENCE_FILE.test(file));
  const texts = files.sort().map((file) => readFileSync(path.join(root, file), 'utf8').trim());
  const text = texts.length > 0 ? texts.join('\n\n') : statedLicence(manifest);
  return [`${name} ${version} (${license})`, ...(homepage ? [homepage] : []), '', text].join('\n');
}

function statedLicence({ name, version, license }: Manifest): string {
  const copyright = STATED[name];
  if (license === 'MIT' && copyright) return `${copyright}\n\n${MIT}`;
  throw new Error(`${name} ${version} is bundled and brings no text of its licence`);
}
