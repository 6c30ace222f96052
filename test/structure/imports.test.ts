import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { importsOf, readSources } from './sources.ts';

const TOOLS = ['contract', 'core', 'network', 'server', 'worker', 'standalone', 'sdk', 'cli', 'test'];

/**
 * Folders and what each may import besides itself. The longest listed folder that contains a file applies. A folder
 * without a line, and an import that no line allows, are refused.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  sdk: ['contract'],
  cli: ['contract', 'sdk'],
  console: ['contract', 'sdk'],
  openapi: ['contract'],
  core: ['contract'],
  // Messaging and billing meet in the database and on the bus.
  'core/billing': ['contract', 'core/migrations', 'core/platform', 'core/workers'],
  network: ['contract', 'core/network', 'core/platform'],
  server: ['contract', 'core'],
  'server/http': [
    'contract',
    'core/access',
    'core/accounts',
    'core/events',
    'core/limits',
    'core/media',
    'core/platform',
  ],
  'server/billing': [
    'contract',
    'core/access',
    'core/accounts',
    'core/billing',
    'core/limits',
    'core/platform',
    'server/http',
  ],
  worker: ['contract', 'core', 'network'],
  standalone: ['contract', 'core', 'network', 'server', 'worker'],
  // The administration commands use all of them.
  admin: ['contract', 'core', 'network', 'worker', 'standalone'],
  bench: TOOLS,
  release: TOOLS,
};

/** By importer: the folders of core that it may not import, although it may import the rest. */
const CLOSED: Readonly<Record<string, readonly string[]>> = {
  core: ['core/billing'],
  'server/messaging': ['core/billing'],
};

function isWithin(file: string, folder: string): boolean {
  return file.startsWith(`${folder}/`);
}

function longestWithin(file: string, folders: readonly string[]): string | undefined {
  return folders.filter((folder) => isWithin(file, folder)).sort((a, b) => b.length - a.length)[0];
}

function isAllowed(file: string, target: string): boolean {
  const folder = longestWithin(file, Object.keys(MAY_IMPORT));
  if (folder === undefined) return false;
  if (isWithin(target, folder)) return folder === 'core' ? !isClosed(file, target) : true;
  return MAY_IMPORT[folder]!.some((allowed) => isWithin(target, allowed)) && !isClosed(file, target);
}

function isClosed(file: string, target: string): boolean {
  const folder = longestWithin(file, Object.keys(CLOSED));
  if (folder === undefined || isWithin(file, 'core/billing')) return false;
  return CLOSED[folder]!.some((closed) => isWithin(target, closed));
}

describe('imports', () => {
  it('go where the table allows it, and nowhere else', () => {
    const refused = readSources().flatMap((source) =>
      importsOf(source)
        .filter((target) => !isAllowed(source.file, target))
        .map((target) => `${source.file} imports ${target}`),
    );
    assert.deepEqual(refused, []);
  });

  it('are refused by default', () => {
    assert.equal(isAllowed('core/billing/charges/charge.ts', 'core/media/spool.ts'), false);
    assert.equal(isAllowed('core/media/spool.ts', 'core/billing/charges/charge.ts'), false);
    assert.equal(isAllowed('network/sandbox/main.ts', 'core/events/ticket.ts'), false);
    assert.equal(isAllowed('new-folder/main.ts', 'contract/jid.ts'), false);
    assert.equal(isAllowed('network/sandbox/main.ts', 'core/network/driver.ts'), true);
  });
});

/** Pairs of sibling folders that import each other, with the reason why they stay separate. */
const KNOWN_PAIRS: Readonly<Record<string, string>> = {
  'core/billing/provider <-> core/billing/subscriptions':
    'the clock of the simulated provider settles subscriptions, as the real calendar does',
  'network/sandbox/control <-> network/sandbox/sessions':
    'a route completes a pairing, and a session names the path under which the routes serve pictures',
  'network/sandbox/families <-> network/sandbox/state':
    'a family reads the state, and delivery looks up the family of a message',
  'network/sandbox/faults <-> network/sandbox/state':
    'the world holds the book of faults, and each fault acts on the world',
};

/** Every pair of sibling folders that import each other, as `one <-> other`. */
function pairsOfSiblings(): string[] {
  const ways = new Set<string>();
  for (const source of readSources())
    for (const target of importsOf(source)) {
      const from = source.file.split('/').slice(0, -1);
      const to = target.split('/').slice(0, -1);
      const fork = from.findIndex((folder, depth) => folder !== to[depth]);
      if (fork < 0 || fork >= to.length) continue;
      ways.add(`${from.slice(0, fork + 1).join('/')} ${to.slice(0, fork + 1).join('/')}`);
    }
  return [...ways].flatMap((way) => {
    const [one, other] = way.split(' ') as [string, string];
    return one < other && ways.has(`${other} ${one}`) ? [`${one} <-> ${other}`] : [];
  });
}

describe('sibling folders', () => {
  it('do not import each other, but for pairs with a reason', () => {
    assert.deepEqual(pairsOfSiblings().sort(), Object.keys(KNOWN_PAIRS).sort());
  });
});
