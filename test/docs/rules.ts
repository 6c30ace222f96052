import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '../support/process.ts';

/** One rule of docs/reference, from its heading to its last line. */
export interface Rule {
  id: string;
  title: string;
  /** From the project's root. */
  file: string;
  /** The text between the heading and the line `held by:`. */
  text: string;
  /** The test files that hold it; empty for `nothing yet`, null when the line is missing or unreadable. */
  heldBy: string[] | null;
}

/** A place in the sources, from the project's root. */
export interface Found {
  file: string;
  line: number;
  text: string;
}

const REFERENCE = 'docs/reference';
const FOLDERS =
  '{.ci,bench,cli,contract,core,docs,examples,network,openapi,release,sdk,server,standalone,test,worker}';
const SOURCES = [`${FOLDERS}/**/*.{ts,tsx,js,mjs,md,json}`, '*.{md,json}'];
/** These files write about citations, so their text would be found as one. */
const OURSELVES = /^(test\/docs\/|docs\/reference\/README\.md$|package-lock\.json$)/;

export function readText(file: string): string {
  return readFileSync(path.join(projectRoot, file), 'utf8');
}

/** The prefixes in the index of docs/reference. */
export function knownPrefixes(): string[] {
  return [...readText(`${REFERENCE}/README.md`).matchAll(/`([A-Z]{3})-n`/g)].map((match) => match[1]!);
}

/** Every rule, in the order of files and headings. A heading that is no rule is listed with its text as id. */
export function readRules(): Rule[] {
  const files = globSync(`${REFERENCE}/*.md`, { cwd: projectRoot }).sort();
  return files.filter((file) => !file.endsWith('README.md')).flatMap((file) => rulesOf(file, readText(file)));
}

function rulesOf(file: string, text: string): Rule[] {
  return text
    .split(/^### /m)
    .slice(1)
    .map((section) => {
      const [heading = '', ...rest] = section.split('\n');
      const [id = '', ...title] = heading.split(' ');
      const body = rest.join('\n').split(/^## /m, 1)[0]!;
      const at = body.lastIndexOf('\nheld by: ');
      return {
        id,
        title: title.join(' '),
        file,
        text: (at < 0 ? body : body.slice(0, at)).trim(),
        heldBy: at < 0 ? null : heldBy(body.slice(at + '\nheld by: '.length)),
      };
    });
}

function heldBy(line: string): string[] | null {
  const text = line.trim();
  if (text === 'nothing yet') return [];
  const files = text.split(', ').map((part) => /^`([^`]+)`$/.exec(part)?.[1]);
  return files.every((file) => file !== undefined) ? files : null;
}

/**
 * The places where a pattern occurs in code, contract and documents. The pattern needs the flag g; it may span lines.
 */
export function findInSources(pattern: RegExp): Found[] {
  return sourceFiles().flatMap((file) => {
    const text = readText(file);
    return [...text.matchAll(pattern)].map((match) => ({
      file,
      line: text.slice(0, match.index).split('\n').length,
      text: match[0],
    }));
  });
}

let listed: string[] | undefined;
function sourceFiles(): string[] {
  listed ??= globSync(SOURCES, {
    cwd: projectRoot,
    exclude: (name) => name === 'node_modules' || name === 'dist',
  })
    .map((file) => file.replaceAll(path.sep, '/'))
    .filter((file) => !OURSELVES.test(file))
    .sort();
  return listed;
}

/** The documents that people read: their links must work. */
export function documents(): string[] {
  return ['*.md', 'docs/**/*.md', '{cli,examples,network,sdk}/*.md'].flatMap((pattern) =>
    globSync(pattern, { cwd: projectRoot }).sort(),
  );
}

/** The anchors of a document, as GitHub makes them from its headings. */
export function anchorsOf(text: string): Set<string> {
  const headings = text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/^#{1,6} (.*)$/gm);
  return new Set(
    [...headings].map(([, heading]) =>
      heading!
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(' ', '-'),
    ),
  );
}
