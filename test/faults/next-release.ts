import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { makeFreshCopy } from '../standalone/fresh-copy.ts';
import { baseEnv } from '../support/process.ts';
import { reap } from '../support/reaper.ts';

/** A checkout that a test runs beside this one. */
export interface Release {
  dir: string;
  /** Brings the database to its schema, as `npm run migrate` does. */
  migrate(env: Record<string, string>): Promise<void>;
  remove(): void;
}

/** The release in the folder `dir`. */
export function releaseIn(dir: string, remove: () => void = () => undefined): Release {
  return {
    dir,
    async migrate(env) {
      await promisify(execFile)(process.execPath, ['core/migrations/migrate-main.ts'], {
        cwd: dir,
        env: { ...baseEnv(), ...env },
      });
    },
    remove,
  };
}

/** Expand-only, for every table: the previous version neither reads nor writes the new column. */
const MIGRATION = `import { Migration } from '@mikro-orm/migrations';

export class NextRelease extends Migration {
  override name = '9001-next-release';

  override up(): void {
    this.addSql(\`
DO $$
DECLARE each record;
BEGIN
  FOR each IN
    SELECT format('%I.%I', n.nspname, c.relname) AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname IN ('public', 'billing') AND c.relkind IN ('r', 'p') AND NOT c.relispartition
    ORDER BY c.oid
  LOOP
    EXECUTE 'ALTER TABLE ' || each.name || ' ADD COLUMN next_release text, ADD COLUMN next_count integer NOT NULL DEFAULT 0';
  END LOOP;
END $$;
CREATE TABLE notes (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, message_id uuid NOT NULL, text text NOT NULL);
\`);
  }
}
`;

/** A copy of this checkout in the shape of a next release: one migration more, and one optional field in texts. */
export function makeNextRelease(): Release {
  const copy = makeFreshCopy();
  const forget = reap({ dir: path.dirname(copy.dir) });
  const edit = (file: string, from: string, to: string) => {
    const at = path.join(copy.dir, file);
    const before = readFileSync(at, 'utf8');
    assert.equal(before.split(from).length, 2, `"${from}" stands once in ${file}`);
    // A new file instead of new bytes: the old one may be a hard link.
    rmSync(at);
    writeFileSync(
      at,
      before.replace(from, () => to),
    );
  };
  writeFileSync(path.join(copy.dir, 'core/migrations/messaging/9001-next-release.ts'), MIGRATION);
  const list = 'core/migrations/messaging/index.ts';
  edit(
    list,
    'import { Baseline }',
    "import { NextRelease } from './9001-next-release.ts';\nimport { Baseline }",
  );
  edit(list, '];', ', NextRelease];');
  const { version } = JSON.parse(readFileSync(path.join(copy.dir, 'package.json'), 'utf8'));
  edit('package.json', `"version": "${version}"`, `"version": "${version}-next"`);
  edit(
    'contract/messaging/send-bodies.ts',
    'export const sendTextBody = z.object({ to: recipient, text,',
    'export const sendTextBody = z.object({ to: recipient, text, note: field.optional(),',
  );
  edit(
    'core/content/text.ts',
    "toMessage: ({ to, text, quoted_id, mentions }) => ({\n    type: 'text',\n    chatJid: jidOf(to),\n    content: mentions ? { text, mentions } : { text },",
    "toMessage: ({ to, text, quoted_id, mentions, note }) => ({\n    type: 'text',\n    chatJid: jidOf(to),\n    content: { ...given({ note }), ...(mentions ? { text, mentions } : { text }) },",
  );
  return releaseIn(copy.dir, () => {
    copy.remove();
    forget();
  });
}
