import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { projectRoot } from '../support/process.ts';
import { anchorsOf, documents, findInSources, knownPrefixes, readRules, readText } from './rules.ts';

/**
 * Citations of texts that nobody who clones this repository has ("spec 4.2", "design 7"). Comments cite the rules of
 * docs/reference by their ids instead. The number may only go down; at 0 every new one fails.
 */
const OLD_CITATIONS_AT_MOST = 0;
const OLD_CITATION =
  /\b(?:(?:spec|design)(?:['’]s)?[\s*/]+(?:(?:section|part)s?[\s*/]+)?§?\d|(?:the|our|its|or) (?:spec|specification)\b(?!-)|the design\b)/gi;

const rules = readRules();
const known = new Map(rules.map((rule) => [rule.id, rule]));
const prefixes = knownPrefixes();
const citation = new RegExp(`\\b(?:${prefixes.join('|')})-\\d+\\b`, 'g');

describe('the rules of docs/reference', () => {
  it('have well-formed ids with a prefix of the index, and each id is used once', () => {
    assert.ok(prefixes.length > 0 && rules.length > 0);
    const wellFormed = new RegExp(`^(?:${prefixes.join('|')})-[1-9]\\d*$`);
    assert.deepEqual(
      rules.filter((rule) => !wellFormed.test(rule.id)).map((rule) => `${rule.file}: ${rule.id}`),
      [],
    );
    const ids = rules.map((rule) => rule.id);
    assert.deepEqual(
      ids.filter((id, at) => ids.indexOf(id) !== at),
      [],
    );
  });

  it('have a title, a statement, and a line with the tests that hold them', () => {
    for (const rule of rules) {
      assert.ok(rule.title !== '' && rule.text !== '', `${rule.id} has no title or no statement`);
      assert.ok(
        rule.heldBy,
        `${rule.id}: the last line must be "held by: \`test/...\`, ..." or "held by: nothing yet"`,
      );
    }
  });

  it('are held by tests that exist', () => {
    for (const { id, heldBy } of rules)
      for (const file of heldBy ?? []) {
        assert.match(file, /^test\/.*\.test\.ts$/, id);
        assert.ok(existsSync(path.join(projectRoot, file)), `${id} is held by ${file}, which is not there`);
      }
  });

  it('are held by a test, or say that they are not built or not tested yet', () => {
    for (const { id, title, text, heldBy } of rules) {
      const isOpen = title === 'withdrawn' || /^\*\*Not (built|tested) yet\.\*\*/.test(text);
      if (isOpen) assert.deepEqual(heldBy, [], id);
      else assert.notDeepEqual(heldBy, [], `no test holds ${id}, and it does not say so`);
    }
  });

  it('are held by a test of npm test, whatever the slow ones add', () => {
    for (const { id, heldBy } of rules)
      if (heldBy && heldBy.length > 0)
        assert.ok(
          heldBy.some((file) => !file.endsWith('.slow.test.ts')),
          `only slow tests hold ${id}`,
        );
  });

  it('are in a file that the index lists', () => {
    const index = readText('docs/reference/README.md');
    for (const file of new Set(rules.map((rule) => rule.file)))
      assert.ok(index.includes(`(${path.basename(file)})`), file);
  });
});

describe('a citation', () => {
  it('names a rule that exists and was not withdrawn', () => {
    const wrong = findInSources(citation).filter(({ text, file }) => {
      const rule = known.get(text);
      return !rule || (rule.title === 'withdrawn' && file !== rule.file);
    });
    assert.deepEqual(wrong, []);
  });

  it('is not used in the contract or the SDK, whose readers do not have these documents', () => {
    const shipped = /^(contract|sdk|openapi)\//;
    assert.deepEqual(
      findInSources(citation).filter(({ file }) => shipped.test(file)),
      [],
    );
  });

  it('names no text outside this repository', () => {
    const old = findInSources(OLD_CITATION);
    const list = old.map(({ file, line, text }) => `${file}:${line} ${text}`).join('\n');
    assert.ok(
      old.length <= OLD_CITATIONS_AT_MOST,
      `${old.length} citations, allowed ${OLD_CITATIONS_AT_MOST}:\n${list}`,
    );
  });
});

describe('the documents', () => {
  it('link only to files and headings that exist', () => {
    const broken: string[] = [];
    for (const document of documents()) {
      const text = readText(document).replace(/^```[\s\S]*?^```/gm, '');
      for (const [, target = '', anchor] of text.matchAll(/\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)/g)) {
        const file = target === '' ? document : path.posix.join(path.posix.dirname(document), target);
        if (!existsSync(path.join(projectRoot, file))) broken.push(`${document}: ${target}`);
        else if (anchor !== undefined && file.endsWith('.md') && !anchorsOf(readText(file)).has(anchor))
          broken.push(`${document}: ${target}#${anchor}`);
      }
    }
    assert.deepEqual(broken, []);
  });
});
