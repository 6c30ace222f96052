import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { ExportManifest } from '@posthorn/core/operations/export-company.ts';
import type { SeededCompany } from '../support/seed.ts';
import type { System } from '../support/system.ts';
import { startAdmin } from './admin-process.ts';

/**
 * Exports a company while it works. The export has every message that was accepted before it began, once, with its
 * media, as the manifest says, and nothing of another company. Returns the number of messages.
 */
export async function proveExport(
  system: System,
  { company, accepted }: { company: SeededCompany; accepted: ReadonlyMap<string, readonly string[]> },
): Promise<number> {
  const into = await mkdtemp(path.join(tmpdir(), 'posthorn-export-'));
  try {
    const before = [...accepted.values()].flat();
    const { code, output } = await startAdmin(system, ['export', String(company.companyId), into]).ended;
    assert.equal(code, 0, output);
    const manifest: ExportManifest = JSON.parse(await readFile(path.join(into, 'manifest.json'), 'utf8'));
    const written = await readdir(into, { recursive: true });
    assert.deepEqual(
      written.filter((name) => name !== 'manifest.json' && name !== 'media').toSorted(),
      manifest.files.map((file) => file.path).toSorted(),
    );
    const rows = await readRows(into, manifest);
    for (const [table, lines] of rows)
      for (const line of lines)
        assert.equal(table === 'companies' ? line.id : line.company_id, company.companyId, table);
    const ids = [...rows.get('messages')!, ...(rows.get('scheduled_sends') ?? [])].map(
      ({ id }) => id as string,
    );
    const messages = rows.get('messages')!.map(({ id }) => id as string);
    assert.equal(new Set(messages).size, messages.length, 'each message once');
    const found = new Set(ids);
    assert.deepEqual(
      before.filter((id) => !found.has(id)),
      [],
      'accepted before, and not exported',
    );
    const stored = rows.get('media')!.map(({ id }) => `media/${id}`);
    const files = new Set(manifest.files.map((file) => file.path));
    assert.deepEqual(
      stored.filter((name) => !files.has(name)),
      [],
    );
    return messages.length;
  } finally {
    await rm(into, { recursive: true, force: true });
  }
}

type Row = Record<string, unknown>;

async function readRows(into: string, { files }: ExportManifest): Promise<Map<string, Row[]>> {
  const tables = new Map<string, Row[]>();
  for (const file of files) {
    const bytes = await readFile(path.join(into, file.path));
    assert.equal(createHash('sha256').update(bytes).digest('hex'), file.sha256, file.path);
    assert.equal(bytes.length, file.sizeBytes, file.path);
    if (file.rows === undefined) continue;
    const rows = bytes
      .toString()
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Row);
    assert.equal(rows.length, file.rows, file.path);
    tables.set(path.basename(file.path, '.ndjson'), rows);
  }
  return tables;
}
