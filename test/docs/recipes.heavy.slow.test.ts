import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, renameSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { type FreshCopy, makeFreshCopy } from '../standalone/fresh-copy.ts';
import { driverCallEdits, driverCallTests } from './recipes/driver-call.ts';
import { type Edit, follow, type TestRun } from './recipes/edits.ts';
import { endpointEdits, endpointTests } from './recipes/endpoint.ts';
import { eventEdits, eventTests } from './recipes/event.ts';
import { instanceSettingEdits, instanceSettingTests } from './recipes/instance-setting.ts';
import { jobEdits, jobTests } from './recipes/job.ts';
import { networkDriverEdits, networkDriverTests } from './recipes/network-driver.ts';
import { sendTypeEdits, sendTypeTests } from './recipes/send-type.ts';
import { settingEdits, settingTests } from './recipes/setting.ts';

interface Recipe {
  title: string;
  /** The folder that the recipe calls `<resource>`, `<area>` or `<name>`. */
  room: string;
  edits: readonly Edit[];
  tests: readonly TestRun[];
}

/** In the order of the text: "Add a setting" uses the job of "Add a job". */
const RECIPES: readonly Recipe[] = [
  { title: 'Add an endpoint', room: 'accounts', edits: endpointEdits, tests: endpointTests },
  { title: 'Add a send type', room: 'messages', edits: sendTypeEdits, tests: sendTypeTests },
  { title: 'Add an event', room: 'notes', edits: eventEdits, tests: eventTests },
  { title: 'Add a job', room: 'feedback', edits: jobEdits, tests: jobTests },
  { title: 'Add a setting', room: 'feedback', edits: settingEdits, tests: settingTests },
  {
    title: 'Add an instance setting',
    room: 'instances',
    edits: instanceSettingEdits,
    tests: instanceSettingTests,
  },
  { title: 'Add a driver call', room: 'profile', edits: driverCallEdits, tests: driverCallTests },
  { title: 'Add a network driver', room: 'postbox', edits: networkDriverEdits, tests: networkDriverTests },
];

/**
 * A person who follows CONTRIBUTING.md touches the files that it names and no others, and ends with types and tests
 * that pass. All recipes share one copy of the checkout, because a type check takes long; the test runs alone, because
 * it takes a core and a gigabyte.
 */
describe('the recipes of CONTRIBUTING.md', () => {
  let copy: FreshCopy;
  before(() => {
    copy = makeFreshCopy();
    keepBuildInfoApart(copy.dir);
  });
  after(() => copy.remove());

  for (const { title, room, edits } of RECIPES)
    test(`"${title}" names every file to touch`, () => follow(copy.dir, title, room, edits));

  test('the types then fit', async () => {
    const { status, output } = await run(copy, ['node_modules/typescript/bin/tsc', '-p', '.']);
    assert.equal(status, 0, output);
  });

  test('`npm run openapi` then writes the documents, which the tests hold answers to', async () => {
    const { status, output } = await run(copy, ['openapi/generate.ts']);
    assert.equal(status, 0, output);
  });

  test('and the other documents that are written from the code', async () => {
    for (const script of ['core/platform/write-settings-main.ts', 'test/events/write-events-doc-main.ts']) {
      const { status, output } = await run(copy, [script]);
      assert.equal(status, 0, output);
    }
  });

  for (const { files, named, passes } of RECIPES.flatMap(({ tests }) => tests)) {
    test(`and ${files.join(' and ')} ${files.length === 1 ? 'passes' : 'pass'}`, async () => {
      const only = named === undefined ? [] : [`--test-name-pattern=${named}`];
      const { status, output } = await run(copy, ['--test', '--test-reporter=spec', ...only, ...files]);
      assert.equal(status, 0, output);
      assert.ok(output.includes(passes), `"${passes}" has run:\n${output}`);
    });
  }
});

/** Each command takes a quarter of a minute, and a send that no phone shows would wait for ever. */
const COMMAND_TIMEOUT_MS = 4 * 60_000;

/** With our environment, so that the tests there use the servers that already run. */
async function run(
  copy: FreshCopy,
  args: readonly string[],
): Promise<{ status: number | null; output: string }> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  // A process group, so that test files of `node --test` end with it.
  const child = spawn(copy.node, args, {
    cwd: copy.dir,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = once(child, 'exit');
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), COMMAND_TIMEOUT_MS);
  const [stdout, stderr, [status]] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
  clearTimeout(timer);
  return { status, output: `${stdout}${stderr}` };
}

/** The copy's packages are hard links: the files that the type check writes must not reach the checkout's. */
function keepBuildInfoApart(dir: string): void {
  const cache = path.join(dir, 'node_modules', '.cache');
  if (!existsSync(cache)) return;
  cpSync(cache, `${cache}-own`, { recursive: true });
  renameSync(cache, `${cache}-linked`);
  renameSync(`${cache}-own`, cache);
}
