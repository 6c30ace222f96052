/**
 * `node openapi/check-breaking.ts` compares the documents with the published ones of the last release. Exits
 * 1 if a change breaks callers and is not declared in breaking-changes.json, or if a declared change does not
 * break anything.
 */
import { readFile } from 'node:fs/promises';
import { findBreakingChanges } from './find-breaking-changes.ts';

interface Declared {
  document: string;
  change: string;
  reason: string;
}

const read = async (name: string) => JSON.parse(await readFile(new URL(name, import.meta.url), 'utf8'));
const declared = (await read('breaking-changes.json')) as Declared[];

for (const document of ['messaging', 'billing']) {
  const found = findBreakingChanges(await read(`published/${document}.json`), await read(`${document}.json`));
  const known = declared.filter((each) => each.document === document && each.reason.trim() !== '');
  for (const change of found)
    if (!known.some((each) => each.change === change))
      fail(`${document}: ${change}. Undo it, or declare it in openapi/breaking-changes.json with a reason`);
  for (const { change } of known)
    if (!found.includes(change)) fail(`${document}: "${change}" is declared and does not break anything`);
}

function fail(message: string): void {
  console.error(message);
  process.exitCode = 1;
}
