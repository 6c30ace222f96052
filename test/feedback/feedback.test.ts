import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { purgeCompany } from '@posthorn/core/accounts/company/purge-company.ts';
import { type AccountServer, startAccountServer } from '../accounts/support/account-server.ts';
import { refused } from '../accounts/support/api-client.ts';
import { newMember, newOwner, type Person } from '../accounts/support/people.ts';
import { newSuperadmin, ROOT_EMAIL } from '../accounts/support/superadmin.ts';

const SECOND_ROOT = 'second@platform.example.test';
const TRACE_ID = '0198c0de-0000-7000-8000-000000000001';

describe('feedback', () => {
  let server: AccountServer;
  let root: Person;
  let owner: Person;
  let agent: Person;
  before(async () => {
    server = await startAccountServer({ SUPERADMIN_EMAILS: `${ROOT_EMAIL},${SECOND_ROOT}` });
    root = await newSuperadmin(server);
    owner = await newOwner(server);
    agent = await newMember(server, owner, 'agent');
  });
  after(() => server.close());

  const give = (body: unknown, who: { jwt?: string; key?: string } = { jwt: owner.jwt }) =>
    server.api('POST', '/v1/feedback', { ...who, body });
  const list = (query = '', jwt = root.jwt) => server.api('GET', `/v1/admin/feedback${query}`, { jwt });
  const mark = (id: unknown, body: unknown, jwt = root.jwt) =>
    server.api('PATCH', `/v1/admin/feedback/${id}`, { jwt, body });

  test('POST 201: any user, by JWT or key; it is kept as it was written and mailed to each superadmin', async () => {
    const message = 'It hangs at https://evil.example/x\n<b>always</b> 👍';
    const answer = await give(
      { kind: 'bug', message, page: '/inbox', trace_id: TRACE_ID },
      { jwt: agent.jwt },
    );
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(Object.keys(answer.body), ['id']);
    assert.equal((await give({ kind: 'praise', message: 'fine' }, { key: owner.key })).status, 201);
    const { body } = await list();
    const { created_at, updated_at, company_name, ...entry } = body.data[1];
    assert.equal(created_at, updated_at);
    assert.equal(typeof company_name, 'string');
    assert.deepEqual(entry, {
      id: answer.body.id,
      company_id: owner.companyId,
      user_id: agent.userId,
      user_email: agent.email,
      kind: 'bug',
      message,
      page: '/inbox',
      trace_id: TRACE_ID,
      state: 'open',
    });
    for (const email of [ROOT_EMAIL, SECOND_ROOT]) {
      const mails = (await server.mailsTo(email)).filter(({ subject }) => subject.startsWith('Feedback'));
      assert.equal(mails.length, 2, email);
      const mail = mails.find(({ subject }) => subject === `Feedback ${answer.body.id}: bug`)!;
      assert.match(mail.text, /It hangs at https evil·example x/);
      assert.doesNotMatch(mail.text, /https:\/\//);
      assert.match(mail.text, new RegExp(TRACE_ID));
    }
  });

  test('POST 400 FEEDBACK_INVALID: a table of bodies, at their limits', async () => {
    const bad: unknown[] = [
      {},
      { kind: 'bug' },
      { message: 'hello' },
      { kind: 'rant', message: 'hello' },
      { kind: 'bug', message: '' },
      { kind: 'bug', message: '   ' },
      { kind: 'bug', message: 'x'.repeat(4001) },
      { kind: 'bug', message: 5 },
      { kind: 'bug', message: 'hello', page: 'x'.repeat(2049) },
      { kind: 'bug', message: 'hello', trace_id: 'none' },
    ];
    for (const body of bad) refused(await give(body), 400, 'FEEDBACK_INVALID');
    const longest = { kind: 'question', message: 'x'.repeat(4000), page: 'x'.repeat(2048) };
    assert.equal((await give(longest)).status, 201);
    refused(
      await server.api('POST', '/v1/feedback', { body: { kind: 'bug', message: 'a' } }),
      401,
      'UNAUTHORIZED',
    );
  });

  test('POST 503 FEEDBACK_FAILED: it could not be kept, and nobody is mailed', async () => {
    await server.db.query(`
      CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no room'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON feedback FOR EACH ROW EXECUTE FUNCTION refuse()`);
    const before = (await server.mailsTo(ROOT_EMAIL)).length;
    const answer = await give({ kind: 'bug', message: 'lost' });
    refused(answer, 503, 'FEEDBACK_FAILED');
    assert.doesNotMatch(answer.text, /no room/);
    await server.db.query('DROP TRIGGER refuse ON feedback');
    assert.equal((await server.mailsTo(ROOT_EMAIL)).length, before);
  });

  test('POST 201: feedback without room in the mailboxes is kept, too', async () => {
    for (let n = 0; n < 25; n++)
      assert.equal((await give({ kind: 'idea', message: `nth ${n}` })).status, 201);
    const mails = (await server.mailsTo(ROOT_EMAIL)).filter(({ subject }) => subject.startsWith('Feedback'));
    assert.equal(mails.length, 20);
    assert.equal((await list('?kind=idea&limit=200')).body.data.length, 25);
  });

  test('GET 200: newest first, by state and kind, by pages', async () => {
    const all = (await list('?limit=200')).body.data.map(({ id }: { id: number }) => id);
    assert.deepEqual(
      all,
      [...all].sort((a: number, b: number) => b - a),
    );
    const seen: number[] = [];
    let query = '?limit=9';
    for (;;) {
      const { body } = await list(query);
      seen.push(...body.data.map(({ id }: { id: number }) => id));
      if (body.next_before === null) break;
      query = `?limit=9&before=${body.next_before}`;
    }
    assert.deepEqual(seen, all);
    assert.equal((await list('?kind=bug')).body.data.length, 1);
    assert.equal((await list('?state=done')).body.data.length, 0);
    refused(await list('?kind=rant'), 400, 'BAD_REQUEST');
    refused(await list('?state=maybe'), 400, 'BAD_REQUEST');
    refused(await list('', owner.jwt), 403, 'SUPERADMIN_REQUIRED');
  });

  test('PATCH 200: done and open again; 404 for unknown feedback; 400 for another state', async () => {
    const { id, updated_at } = (await list('?limit=1')).body.data[0];
    server.clock.advance(1_000);
    const done = await mark(id, { state: 'done' });
    assert.equal(done.status, 200, done.text);
    assert.equal(done.body.state, 'done');
    assert.notEqual(done.body.updated_at, updated_at);
    assert.deepEqual((await mark(id, { state: 'done' })).body, done.body, 'twice changes nothing');
    assert.equal((await list('?state=done')).body.data.length, 1);
    assert.equal((await mark(id, { state: 'open' })).body.state, 'open');
    for (const unknown of ['999999', '0', 'x', '99999999999'])
      refused(await mark(unknown, { state: 'done' }), 404, 'NOT_FOUND');
    for (const body of [{}, { state: 'gone' }, { state: null }])
      refused(await mark(id, body), 400, 'FEEDBACK_INVALID');
    refused(await mark(id, { state: 'done' }, owner.jwt), 403, 'SUPERADMIN_REQUIRED');
  });

  test('it outlives its author, and is deleted with the company', async () => {
    const other = await newOwner(server);
    const member = await newMember(server, other, 'agent');
    const { body } = await give({ kind: 'bug', message: 'of one who leaves' }, { jwt: member.jwt });
    const removed = await server.api('DELETE', `/v1/users/${member.userId}`, { jwt: other.jwt });
    assert.equal(removed.status, 204, removed.text);
    const entry = (await list('?limit=1')).body.data[0];
    assert.deepEqual([entry.id, entry.user_id, entry.user_email], [body.id, null, null]);
    await server.db.query(`UPDATE companies SET status = 'deleted', deleted_at = now() WHERE id = $1`, [
      other.companyId,
    ]);
    await purgeCompany({ db: server.db }, other.companyId);
    assert.notEqual((await list('?limit=1')).body.data[0].id, body.id);
  });
});
