import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { jpeg, png, webp } from '../media/samples.ts';
import { seedInstance } from '../support/seed.ts';
import { type Sending, startSending, type TestInstance } from '../support/sending.ts';

let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  pipeline = await startSending();
  instance = await pipeline.connect();
});
after(() => pipeline.close());

const read = (who = instance) => pipeline.call(who, 'GET', '/profile');
const change = (body: object, who = instance) => pipeline.call(who, 'PATCH', '/profile', body);

async function upload(bytes: Buffer, type: string): Promise<string> {
  const form = new FormData();
  form.append('file', new Blob([new Uint8Array(bytes)], { type }), 'file');
  const response = await fetch(`${pipeline.api.url}/v1/instances/${instance.id}/media`, {
    method: 'POST',
    headers: { 'x-api-key': pipeline.company.apiKey },
    body: form,
  });
  return ((await response.json()) as { media_id: string }).media_id;
}

const shown = async () => (await pipeline.sandbox.call('GET', `/phones/${instance.phone}`)).body;

describe('the profile', () => {
  test('is read and changed field by field; a name is the push_name of the instance', async () => {
    const before = (await read()).body;
    assert.deepEqual([before.about, before.picture_url], ['', '']);
    const named = await change({ name: ' Acme support ' });
    assert.deepEqual([named.status, named.body.name, named.body.about], [200, 'Acme support', '']);
    const own = await pipeline.api.call('GET', `/v1/instances/${instance.id}`, {
      key: pipeline.company.apiKey,
    });
    assert.equal(own.body.push_name, 'Acme support');
    assert.equal((await change({ about: 'Ask us' })).body.name, 'Acme support');
    assert.deepEqual((await read()).body, { name: 'Acme support', about: 'Ask us', picture_url: '' });
    assert.equal((await change({ about: '' })).body.about, '');
  });

  test('an agent changes all of it but the name: 403 INSUFFICIENT_PERMISSIONS, and nothing is changed', async () => {
    const { db } = pipeline.api.parts;
    const { companyId } = pipeline.company;
    const jwtOf = async (role: 'admin' | 'agent') => {
      const { rows } = await db.query<{ id: number }>(
        `INSERT INTO users (company_id, email, name, role, email_verified_at) VALUES ($1, $2, 'Ann', $3, now())
         RETURNING id`,
        [companyId, `${randomUUID()}@example.test`, role],
      );
      const principal = { ...pipeline.company.principal, role };
      return pipeline.api.jwtOf({ ...pipeline.company, userId: rows[0]!.id, principal });
    };
    const [admin, agent] = [await jwtOf('admin'), await jwtOf('agent')];
    const path = `/v1/instances/${instance.id}/profile`;
    assert.equal(
      (await pipeline.api.call('PATCH', path, { jwt: admin, body: { name: 'By admin' } })).status,
      200,
    );
    for (const body of [{ name: 'By agent' }, { name: 'By agent', about: 'By agent' }]) {
      const refused = await pipeline.api.call('PATCH', path, { jwt: agent, body });
      assert.deepEqual([refused.status, refused.body.error_code], [403, 'INSUFFICIENT_PERMISSIONS']);
    }
    const about = await pipeline.api.call('PATCH', path, { jwt: agent, body: { about: 'Ask Ann' } });
    assert.deepEqual([about.status, about.body.name, about.body.about], [200, 'By admin', 'Ask Ann']);
    assert.equal((await pipeline.api.call('GET', path, { jwt: agent })).body.name, 'By admin');
    await change({ about: '' });
  });

  test('a new name shows to others', async () => {
    await change({ name: 'Renamed' });
    const other = await pipeline.connect();
    await pipeline.send(instance, '/messages/text', { to: other.phone, text: 'hi' });
    const { data } = await pipeline.event(other, 'message.received', (one) => one.phone === instance.phone);
    assert.equal(data.push_name, 'Renamed');
  });

  for (const [what, make, type] of [
    ['JPEG', jpeg, 'image/jpeg'],
    ['PNG', png, 'image/png'],
  ] as const)
    test(`a picture is a ${what} of stored media, and null removes it`, async () => {
      const bytes = await make();
      const answer = await change({ picture_media_id: await upload(bytes, type) });
      assert.equal(answer.status, 200, answer.text);
      const { picture } = await shown();
      const atNetwork = await fetch(pipeline.sandboxUrl + picture);
      assert.deepEqual(Buffer.from(await atNetwork.arrayBuffer()), bytes);
      assert.equal((await change({ picture_media_id: null })).body.picture_url, '');
      assert.equal((await shown()).picture, null);
    });

  test('limits are exact: 139 characters of about, 2 MB of a picture', async () => {
    assert.equal((await change({ about: 'a'.repeat(139) })).status, 200);
    const over = await change({ about: 'a'.repeat(140) });
    assert.deepEqual([over.status, over.body.error_code], [400, 'BAD_REQUEST']);
    const large = Buffer.concat([await png(), Buffer.alloc(2 * 1024 * 1024)]);
    const refused = await change({ picture_media_id: await upload(large, 'image/png') });
    assert.deepEqual([refused.status, refused.body.error_code], [413, 'MEDIA_TOO_LARGE']);
    const exact = large.subarray(0, 2 * 1024 * 1024);
    assert.equal((await change({ picture_media_id: await upload(exact, 'image/png') })).status, 200);
    await change({ picture_media_id: null });
  });

  test('a file that cannot be a profile picture is 415, whatever type is declared', async () => {
    for (const [bytes, type] of [
      [await webp(), 'image/webp'],
      [Buffer.from('%PDF-1.4 fine'), 'application/pdf'],
      [Buffer.from('%PDF-1.4 lies'), 'image/png'],
    ] as const) {
      const { status, body } = await change({ picture_media_id: await upload(bytes, type) });
      assert.deepEqual([status, body.error_code], [415, 'UNSUPPORTED_MEDIA_TYPE'], type);
    }
    const unknown = await change({ picture_media_id: randomUUID() });
    assert.deepEqual([unknown.status, unknown.body.error_code], [404, 'NOT_FOUND']);
  });

  for (const [body, code] of [
    [{}, 'BAD_REQUEST'],
    [{ name: '' }, 'MISSING_FIELD'],
    [{ name: 'n'.repeat(256) }, 'BAD_REQUEST'],
    [{ picture_media_id: 'none' }, 'BAD_REQUEST'],
  ] as const)
    test(`${JSON.stringify(body).slice(0, 40)}: 400 ${code}`, async () => {
      const answer = await change(body);
      assert.deepEqual([answer.status, answer.body.error_code], [400, code]);
    });

  for (const [state, code] of [
    ['DISCONNECTED', 'INSTANCE_NOT_CONNECTED'],
    ['BANNED', 'INSTANCE_BANNED'],
    ['HARD_PAUSED', 'INSTANCE_HARD_PAUSED'],
  ] as const)
    test(`409 ${code} while the instance is ${state}`, async () => {
      const id = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state });
      for (const answer of [
        await read({ ...instance, id }),
        await change({ name: 'x' }, { ...instance, id }),
      ])
        assert.deepEqual([answer.status, answer.body.error_code], [409, code]);
    });
});
