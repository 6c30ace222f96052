import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '@posthorn/test/support/process.ts';

/** One step of a recipe: a new file, or lines before, or in place of, a text that occurs once in a file. */
export type Edit =
  | { file: string; create: string }
  | { file: string; before: string; add: string }
  | { file: string; replace: string; by: string };

/** A command of a recipe whose tests have to pass. */
export interface TestRun {
  files: string[];
  /** Runs only the tests whose name matches. */
  named?: string;
  /** A test name that the report must contain. */
  passes: string;
}

/** The text of one recipe of CONTRIBUTING.md. */
export function recipe(title: string): string {
  const text = readFileSync(path.join(projectRoot, 'CONTRIBUTING.md'), 'utf8');
  const section = text.split(/^### /m).find((part) => part.startsWith(`${title}\n`));
  assert.ok(section, `CONTRIBUTING.md has the recipe "${title}"`);
  return section;
}

/**
 * Makes the edits in the checkout at `dir`. The recipe has to name each edited file, or its folder. `room` is the
 * folder that the recipe calls `<resource>`, `<area>` or `<name>`.
 */
export function follow(dir: string, title: string, room: string, edits: readonly Edit[]): void {
  const section = recipe(title).replaceAll(/<(resource|area|name)>/g, room);
  for (const edit of edits) {
    assert.ok(
      placesOf(edit.file).some((place) => section.includes(`\`${place}\``)),
      `the recipe "${title}" names ${edit.file} or its folder`,
    );
    apply(path.join(dir, edit.file), edit);
  }
}

function apply(file: string, edit: Edit): void {
  if ('create' in edit) {
    assert.ok(!existsSync(file), `${edit.file} is new`);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, edit.create);
    return;
  }
  const text = readFileSync(file, 'utf8');
  const [anchor, lines] = 'replace' in edit ? [edit.replace, edit.by] : [edit.before, edit.add + edit.before];
  assert.equal(text.split(anchor).length, 2, `"${anchor}" stands once in ${edit.file}`);
  writeFileSync(
    file,
    text.replace(anchor, () => lines),
  );
}

/** The recipe may name `a/b/c.ts` as `a/b/c.ts`, `a/b/` or `a/`. */
function placesOf(file: string): string[] {
  const parts = file.split('/');
  return [file, ...parts.slice(1).map((_, i) => `${parts.slice(0, parts.length - 1 - i).join('/')}/`)];
}
