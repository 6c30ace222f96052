import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { type Standalone, startStandalone } from '../cli/start-standalone.ts';
import { freePort, projectRoot } from '../support/process.ts';
import { blocksOf } from './guide-blocks.ts';
import { createReader, type Reader } from './run-guide.ts';

const GUIDES = 'docs/guides';
const readGuide = (name: string) => readFileSync(path.join(projectRoot, GUIDES, name), 'utf8');

/** The output that each guide must produce; besides, none of its commands may fail. */
const SHOWN: Readonly<Record<string, readonly RegExp[]>> = {
  'README.md': [/state +CONNECTED/],
  'send.md': [
    /message_id +(\S+)[\s\S]*message_id +\1/,
    /^(delivered|read) \S+$/m,
    /^document queued$/m,
    /scheduled/,
    /^202 queued$/m,
  ],
  'receive.md': [/message\.received.*Good morning/, /^5511999990077 sent text: Are you there\?$/m],
  'verify-webhooks.md': [
    /^verified message\.\w+ \S+$/m,
    /^refused MISSING_HEADER$/m,
    /^without a signature: 400$/m,
    /previous_secret_expires_at/,
  ],
  'resume-streams.md': [
    /handled 5511999990021[\s\S]*handled 5511999990022/,
    /^read to the end of the log: true$/m,
  ],
  'billing.md': [/starter_monthly/, /trialing/, /active/],
  'connect-a-phone.md': [/state +PAIRING/, /state +CONNECTED[\s\S]*state +CONNECTED/],
  'go-to-production.md': [/^[0-9a-f]{64}$/m],
};

/**
 * The number of blocks that are not run, by guide: the comment above each block says why. A new one has to be counted
 * here.
 */
const NOT_RUN: Readonly<Record<string, number>> = {
  'README.md': 2,
  'connect-a-phone.md': 1,
  'go-to-production.md': 2,
};

describe('the guides', { timeout: 600_000 }, () => {
  let system: Standalone;
  let reader: Reader;
  let unpaired: Standalone | undefined;
  let pairing: Reader | undefined;
  before(async () => {
    system = await startStandalone({ RATE_LIMIT_PER_MINUTE: '6000' });
    reader = createReader(system, { 9000: String(await freePort()) });
  });
  after(async () => {
    for (const each of [reader, pairing]) each?.leave();
    await Promise.all([system?.stop(), unpaired?.stop()]);
  });

  for (const [name, shown] of Object.entries(SHOWN)) {
    test(`${name} works as written`, async () => {
      if (name === 'connect-a-phone.md') {
        unpaired = await startStandalone({ SANDBOX_AUTO_PAIR: 'false' });
        pairing = createReader(unpaired, {});
      }
      const who = name === 'connect-a-phone.md' ? (pairing as Reader) : reader;
      const output = await who.follow(name, blocksOf(readGuide(name)));
      for (const pattern of shown) assert.match(output, pattern);
    });
  }

  test('are all run, except for the blocks that say why not', () => {
    const names = globSync('*.md', { cwd: path.join(projectRoot, GUIDES) });
    const withBlocks = names.filter((name) => blocksOf(readGuide(name)).length > 0);
    const elsewhere = Object.keys(SHOWN).filter((name) => !withBlocks.includes(name));
    assert.deepEqual(elsewhere, [], 'guides without a block');
    for (const name of Object.keys(SHOWN)) {
      const notRun = blocksOf(readGuide(name)).filter((block) => block.notRun !== null);
      assert.equal(notRun.length, NOT_RUN[name] ?? 0, name);
    }
  });

  test('are listed in their index', () => {
    for (const name of globSync('*.md', { cwd: path.join(projectRoot, GUIDES) }))
      if (name !== 'README.md') assert.ok(readGuide('README.md').includes(`(${name})`), name);
  });
});
