import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { projectRoot } from '@posthorn/test/support/process.ts';

const read = (file: string) => readFileSync(path.join(projectRoot, file), 'utf8');
const readme = read('README.md');
const documents = ['README.md', ...globSync('docs/**/*.md', { cwd: projectRoot })];

describe('the README', () => {
  it('has at most 120 lines', () => {
    assert.ok(readme.trimEnd().split('\n').length <= 120);
  });

  it('is right that npm start needs no setting, and that every npm command it names is there', () => {
    const { scripts } = JSON.parse(read('package.json'));
    for (const document of documents)
      for (const [, command] of read(document).matchAll(/\bnpm run ([a-z:]+)/g))
        assert.ok(scripts[command!], `${document}: npm run ${command}`);
    for (const [name, script] of Object.entries<string>(scripts)) {
      const entry = /^node (\S+)/.exec(script)?.[1];
      if (entry) assert.ok(existsSync(path.join(projectRoot, entry)), `npm run ${name}: ${entry}`);
    }
  });

  it('and the other documents link and point only to existing files', () => {
    for (const document of documents) {
      const text = read(document);
      const folder = path.dirname(document);
      for (const [, target] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
        assert.ok(existsSync(path.join(projectRoot, folder, target!)), `${document} links to ${target}`);
      // A path is written from the project's root.
      for (const [, file] of text.matchAll(/`([a-z][\w.-]*\/[\w./-]*\.(?:ts|json|md))`/g))
        assert.ok(existsSync(path.join(projectRoot, file!)), `${document} speaks of ${file}`);
    }
  });

  it('lists the existing folders in its tree', () => {
    const { workspaces } = JSON.parse(read('package.json'));
    const section = readme.split(/^## /m).find((part) => part.startsWith('Layout')) ?? '';
    for (const folder of workspaces) assert.ok(section.includes(`\`${folder}/\``), folder);
  });
});
