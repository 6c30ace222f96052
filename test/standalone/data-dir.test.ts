import assert from 'node:assert/strict';
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { it } from 'node:test';
import { openDataDir } from '@posthorn/standalone/src/data-dir.ts';

it('DATA_DIR is closed to others, unless they use the folder as well', (t) => {
  const modeOf = (dir: string) => statSync(dir).mode & 0o777;
  const fresh = mkdtempSync(path.join(tmpdir(), 'posthorn-dir-'));
  const shared = mkdtempSync(path.join(tmpdir(), 'posthorn-dir-'));
  t.after(() => [fresh, shared].forEach((dir) => void rmSync(dir, { recursive: true })));
  writeFileSync(path.join(shared, 'of-others'), '');
  for (const dir of [fresh, shared]) {
    chmodSync(dir, 0o755);
    openDataDir(dir).release();
    openDataDir(dir).release();
  }
  assert.equal(modeOf(fresh), process.getuid?.() === 0 ? 0o711 : 0o700);
  assert.equal(modeOf(shared), 0o755);
});
