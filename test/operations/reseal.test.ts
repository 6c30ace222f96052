import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { resealAll, SEALED } from '@posthorn/core/operations/reseal.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createParts, type Parts } from '@posthorn/test/support/parts.ts';
import { seedCompany, seedInstance } from '@posthorn/test/support/seed.ts';

const OLD = 'ab'.repeat(32);
const NEW = 'cd'.repeat(32);
const old = createCipher(OLD);
const changing = createCipher(NEW, [OLD]);
const changed = createCipher(NEW);

/** Bytes that no key seals: hashes, digests and padding. */
const NOT_SEALED = [
  'address_windows.key_hash',
  'api_tokens.key_hash',
  'billing.trials.document_digest',
  'email_codes.code_hash',
  'login_failures.email_hash',
  'login_successes.key_hash',
  'mail_budgets.mailbox',
  'media.sha256',
  'media.url_hash',
  'network_inbox.body',
  'oauth_pending.token_hash',
  'oauth_states.browser_hash',
  'oauth_states.state_hash',
  'password_links.token_hash',
  'refresh_tokens.token_hash',
  'write_probes.padding',
];

describe('sealing everything anew', () => {
  let parts: Parts;
  let companyId: number;
  before(async () => {
    parts = await createParts();
    ({ companyId } = await seedCompany(parts.db));
  });
  after(() => parts.close());

  /** Every sealed value, by column. */
  async function values(): Promise<{ where: string; sealed: Buffer }[]> {
    const found = await Promise.all(
      SEALED.map(async ({ table, column }) => {
        const { rows } = await parts.db.query<{ sealed: Buffer }>(
          `SELECT ${column} AS sealed FROM ${table} WHERE ${column} <> ''`,
        );
        return rows.map(({ sealed }) => ({ where: `${table}.${column}`, sealed }));
      }),
    );
    return found.flat();
  }

  /** Writes at least one value into each column, and more session keys than a batch. */
  async function seed(): Promise<void> {
    const { db } = parts;
    const instanceId = await seedInstance(db, companyId, { state: 'CONNECTED', wanted: 'connected' });
    await db.query('UPDATE instances SET credentials = $2, proxy = $3 WHERE id = $1', [
      instanceId,
      old.seal({ token: 'of the network' }),
      old.seal('socks5://user:password@proxy.example'),
    ]);
    await db.query(
      `INSERT INTO session_keys (instance_id, company_id, kind, id, sealed)
       SELECT $1, $2, 'kind ' || n % 3, 'key ' || n, sealed FROM unnest($3::bytea[]) WITH ORDINALITY AS s (sealed, n)`,
      [instanceId, companyId, Array.from({ length: 1_201 }, (_, n) => old.seal({ n }))],
    );
    await db.query(
      `INSERT INTO webhooks (company_id, url, patterns, secret, previous_secret, earlier_secrets, headers)
       VALUES ($1, 'https://example.com', '{*}', $2, $3, $4, $5)`,
      [companyId, ...['whsec_a', 'whsec_b', [{ secret: 'whsec_c' }], { 'x-key': 'd' }].map(old.seal)],
    );
    await db.query(
      `INSERT INTO mails (company_id, kind, sealed, next_attempt_at, created_at) VALUES ($1, 'test', $2, now(), now())`,
      [companyId, old.seal({ to: 'a@example.test' })],
    );
    await db.query(
      `INSERT INTO mails (kind, sealed, next_attempt_at, created_at, failed_at) VALUES ('test', '', now(), now(), now())`,
    );
    await db.query(
      `INSERT INTO oauth_states (state_hash, provider, browser_hash, secrets, expires_at) VALUES ($1, 'google', $1, $2, now())`,
      [Buffer.from('state'), old.seal({ nonce: 'n' })],
    );
    await db.query(
      `INSERT INTO oauth_pending (token_hash, provider, subject, profile, expires_at) VALUES ($1, 'google', 's', $2, now())`,
      [Buffer.from('token'), old.seal({ email: 'a@example.test' })],
    );
    await db.query(
      `INSERT INTO billing.cards (company_id, token, brand, last4, exp_month, exp_year, is_default, created_at)
       VALUES ($1, $2, 'visa', '4242', 1, 2030, true, now())`,
      [companyId, old.seal('tok_1')],
    );
  }

  it('knows every column of bytes as sealed or as not', async () => {
    const { rows } = await parts.db.query<{ name: string }>(
      `SELECT CASE WHEN table_schema = 'billing' THEN 'billing.' ELSE '' END || table_name || '.' || column_name AS name
       FROM information_schema.columns
       WHERE data_type = 'bytea' AND table_schema IN (current_schema(), 'billing')`,
    );
    const known = [...SEALED.map(({ table, column }) => `${table}.${column}`), ...NOT_SEALED];
    assert.deepEqual(rows.map(({ name }) => name).sort(), known.sort());
  });

  it('leaves values that open only with the new key, and have the same content', async () => {
    await seed();
    const before = new Map<string, unknown[]>();
    for (const { where, sealed } of await values())
      before.set(where, [...(before.get(where) ?? []), old.open(sealed)]);
    assert.equal(before.size, SEALED.length);

    const done = await resealAll({ db: parts.db, cipher: changing });
    assert.equal(done.find(({ table }) => table === 'session_keys')?.resealed, 1_201);
    for (const { table, column, checked, resealed, unreadable } of done)
      assert.deepEqual([checked, resealed, unreadable], [checked, checked, 0], `${table}.${column}`);
    const after = new Map<string, unknown[]>();
    for (const { where, sealed } of await values()) {
      after.set(where, [...(after.get(where) ?? []), changed.open(sealed)]);
      assert.throws(() => old.open(sealed), where);
    }
    const sorted = (all: unknown[]) => all.map((value) => JSON.stringify(value)).sort();
    for (const [where, opened] of before) assert.deepEqual(sorted(after.get(where)!), sorted(opened), where);
  });

  it('finds nothing to do the second time', async () => {
    for (const { resealed } of await resealAll({ db: parts.db, cipher: changing })) assert.equal(resealed, 0);
  });

  it('does not overwrite values that others write meanwhile', async () => {
    const instanceId = await seedInstance(parts.db, companyId, { state: 'CONNECTED', wanted: 'connected' });
    const write = (value: Buffer) =>
      parts.db.query('UPDATE instances SET credentials = $2 WHERE id = $1', [instanceId, value]);
    await write(old.seal('first'));
    // A session writes between the read and the update, under the old key, as a process that was not restarted does.
    const slow = {
      ...parts.db,
      async query(...args: Parameters<typeof parts.db.query>) {
        if (String(args[0]).includes('UPDATE instances AS kept SET credentials'))
          await write(old.seal('second'));
        return parts.db.query(...args);
      },
    } as typeof parts.db;
    const of = (done: Awaited<ReturnType<typeof resealAll>>) =>
      done.find(({ column }) => column === 'credentials')!.resealed;
    assert.equal(of(await resealAll({ db: slow, cipher: changing })), 0);
    assert.equal(of(await resealAll({ db: parts.db, cipher: changing })), 1);
    const { rows } = await parts.db.query<{ credentials: Buffer }>(
      'SELECT credentials FROM instances WHERE id = $1',
      [instanceId],
    );
    assert.equal(changed.open(rows[0]!.credentials), 'second');
  });

  it('counts values that no accepted key opens, and leaves them unchanged', async () => {
    const lost = createCipher('ef'.repeat(32)).seal('lost');
    await parts.db.query(
      `INSERT INTO session_keys (instance_id, company_id, kind, id, sealed) VALUES ($1, $2, 'k', 'lost', $3)`,
      [randomUUID(), companyId, lost],
    );
    const done = await resealAll({ db: parts.db, cipher: changing });
    assert.equal(done.find(({ table }) => table === 'session_keys')?.unreadable, 1);
    const { rows } = await parts.db.query<{ sealed: Buffer }>(
      `SELECT sealed FROM session_keys WHERE id = 'lost'`,
    );
    assert.deepEqual(rows[0]!.sealed, lost);
  });
});
