import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import { configSchema } from '@posthorn/core/platform/config.ts';
import { type SettingDoc, settingGroups } from '@posthorn/core/platform/setting-docs.ts';
import { settingsDocument } from '@posthorn/core/platform/settings-document.ts';
import { readSettings } from '@posthorn/standalone/src/settings.ts';
import { projectRoot } from '@posthorn/test/support/process.ts';

const described = Object.values(settingGroups).flatMap((group) => Object.entries<SettingDoc>(group));

/** `npm start` generates these, or runs the part itself. */
const GENERATED = ['AMQP_URL', 'DATABASE_URL', 'ENCRYPTION_KEY', 'INTERNAL_SECRET', 'JWT_SECRET'];

describe('docs/settings.md', () => {
  it('describes every setting of the schema once', () => {
    assert.deepEqual(described.map(([name]) => name).sort(), Object.keys(configSchema.shape).sort());
  });

  it('matches the output of `npm run settings`', () => {
    const file = path.join(projectRoot, 'docs/settings.md');
    assert.equal(readFileSync(file, 'utf8'), settingsDocument());
  });

  it('gives each setting the default that the schema has', () => {
    const rows = [...settingsDocument().matchAll(/^\| `([A-Z0-9_]+)` \| ([^|]*) \|/gm)];
    assert.equal(rows.length, described.length);
    for (const [, name = '', shown = ''] of rows) {
      const parsed = configSchema.shape[name as keyof typeof configSchema.shape].safeParse(undefined);
      if (!parsed.success) assert.equal(shown, 'required', name);
      else if (String(parsed.data ?? '') !== '')
        assert.equal(shown.split('; ')[0], String(parsed.data), name);
    }
  });

  it('names the defaults of `npm start` that differ from those of the schema', () => {
    const started = readSettings({}).config as Record<string, unknown>;
    for (const [name, { start, unset }] of described) {
      const parsed = configSchema.shape[name as keyof typeof configSchema.shape].safeParse(undefined);
      const usual = String(parsed.data ?? '');
      if (GENERATED.includes(name) || String(started[name] ?? '') === usual)
        assert.equal(start, undefined, name);
      else assert.ok((start ?? unset ?? '').includes(String(started[name])), name);
    }
  });
});
