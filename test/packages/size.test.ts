import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { projectRoot } from '@posthorn/test/support/process.ts';

interface Locked {
  dev?: boolean;
  link?: boolean;
}

/** On all platforms together: each machine installs its own part of the native packages. */
const PRODUCTION_PACKAGES_AT_MOST = 380;

test(`npm ci --omit=dev installs at most ${PRODUCTION_PACKAGES_AT_MOST} packages`, () => {
  const lock = JSON.parse(readFileSync(path.join(projectRoot, 'package-lock.json'), 'utf8'));
  const production = Object.entries(lock.packages as Record<string, Locked>).filter(
    ([folder, { dev, link }]) => folder.includes('node_modules/') && !dev && !link,
  );
  assert.ok(production.length > 100);
  assert.ok(production.length <= PRODUCTION_PACKAGES_AT_MOST, `${production.length} packages`);
});
