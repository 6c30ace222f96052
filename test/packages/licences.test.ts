import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { projectRoot } from '@posthorn/test/support/process.ts';

interface Locked {
  license?: string;
  optional?: boolean;
  link?: boolean;
}

const read = (file: string) => JSON.parse(readFileSync(path.join(projectRoot, file), 'utf8'));
const locked = Object.entries(read('package-lock.json').packages as Record<string, Locked>).filter(
  ([folder, { link }]) => folder.includes('node_modules/') && !link,
);

/** A library that programs may link to without a change of their own licence. */
const WEAK_COPYLEFT = /\bLGPL-[\w.-]+/g;
const COPYLEFT = /\bA?GPL\b|GNU (?:AFFERO )?GENERAL PUBLIC|\bSSPL\b/i;

/** The licence of a package: from the lock, else from the installed files. */
function licenceOf(folder: string, { license }: Locked): string {
  if (license) return license;
  if (NAMED_ELSEWHERE[folder]) return NAMED_ELSEWHERE[folder];
  const installed = path.join(projectRoot, folder);
  if (!existsSync(installed)) return 'unknown';
  const { license: own, licenses } = read(path.join(folder, 'package.json'));
  if (own || licenses) return JSON.stringify(own ?? licenses);
  // Some only have the text of it.
  const text = readdirSync(installed).find((file) => /^licen[cs]e/i.test(file));
  return text ? readFileSync(path.join(installed, text), 'utf8').slice(0, 2_000) : 'unknown';
}

/**
 * The one program under the GPL: it is started as a process of its own and linked to nothing, and `--omit=optional`
 * leaves it out (docs/decisions/0033-ffmpeg-from-npm.md).
 */
const RUN_APART = 'node_modules/ffmpeg-static';
/** Names its licence only in its text, and is missing together with ffmpeg-static when that is not installed. */
const NAMED_ELSEWHERE: Readonly<Record<string, string>> = { 'node_modules/parse-cache-control': 'BSD' };

const isCopyleft = (licence: string) => COPYLEFT.test(licence.replace(WEAK_COPYLEFT, ''));

describe('an installation', () => {
  for (const [command, packages] of [
    ['npm ci', locked],
    ['npm ci --omit=optional', locked.filter(([, { optional }]) => !optional)],
  ] as const) {
    it(`has no library under the GPL, by ${command}`, () => {
      assert.ok(packages.length > 100);
      const found = packages.flatMap(([folder, entry]) => {
        const licence = licenceOf(folder, entry);
        return isCopyleft(licence) || licence === 'unknown' ? [`${folder}: ${licence.slice(0, 40)}`] : [];
      });
      const apart = command === 'npm ci' ? [`${RUN_APART}: GPL-3.0-or-later`] : [];
      assert.deepEqual(found, apart);
    });
  }

  it('has no package of the WhatsApp library, which has a lock file of its own', () => {
    const names = locked.map(([folder]) => folder.slice(folder.lastIndexOf('node_modules/') + 13));
    assert.deepEqual(
      names.filter((name) => name === 'libsignal' || name.endsWith('/baileys')),
      [],
    );
    const own = Object.entries(
      read('network/whatsapp/library/package-lock.json').packages as Record<string, Locked>,
    );
    const copyleft = own.filter(([, { license = '' }]) => isCopyleft(license)).map(([folder]) => folder);
    assert.deepEqual(copyleft, ['node_modules/libsignal'], 'the test would see it');
  });
});
