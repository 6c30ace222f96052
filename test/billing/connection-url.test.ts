import assert from 'node:assert/strict';
import { test } from 'node:test';
import { billingConnectionUrl } from '@posthorn/core/migrations/billing-role.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import pg from 'pg';

/** The connection parameters that the client of PostgreSQL reads from billing's URL. */
async function readFrom(own: string): Promise<Record<string, unknown>> {
  const log = createLog({ level: 'silent', role: 'test' });
  const url = await billingConnectionUrl({ databaseUrl: 'postgres://unused.test/app', own, log });
  const client = new pg.Client({ connectionString: url });
  const { connectionParameters } = client as unknown as { connectionParameters: { password?: string } };
  // Not enumerable, so that printing the others does not show it.
  return { ...connectionParameters, password: connectionParameters.password };
}

test('a user and a password of billing keep their pluses, blanks and percent signs', async () => {
  const read = await readFrom('postgres://billing+own:a%20b+c%2Bd%25@db.test:5433/app%20two');
  assert.partialDeepStrictEqual(read, {
    user: 'billing+own',
    password: 'a b+c+d%',
    host: 'db.test',
    port: 5433,
    database: 'app two',
    options: '-c jit=off -c search_path=billing,public',
  });
});

test('settings that the URL of billing brings stay, before those of the service', async () => {
  const read = await readFrom(
    'postgres://billing@db.test/app?options=-c%20statement_timeout%3D5s&application_name=one+two%2Bthree',
  );
  assert.partialDeepStrictEqual(read, {
    options: '-c statement_timeout=5s -c jit=off -c search_path=billing,public',
    application_name: 'one two+three',
  });
});
