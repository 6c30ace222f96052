import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { RAW_BODY_MAX_BYTES } from '@posthorn/contract/limits.ts';
import { signatureOf } from '@posthorn/network/sandbox/graph/post.ts';
import { type CloudInstance, type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { waitFor } from '../support/process.ts';

const FROM = '5531900000002';
const MIB = 1024 * 1024;
/** As docs/reference/instances.md has it. */
const WAITING_MAX_BYTES = 128 * MIB;

let cloud: CloudSending;
before(async () => {
  cloud = await startCloudSending();
});
after(() => cloud?.close());

async function away(): Promise<CloudInstance> {
  const instance = await cloud.connect();
  await cloud.call(instance.id, 'POST', '/disconnect');
  await cloud.state(instance.id, 'DISCONNECTED');
  return instance;
}

function post({ id, number }: CloudInstance, body: Buffer): Promise<Response> {
  return fetch(`${cloud.api.url}/v1/webhooks/whatsapp-cloud/${id}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-hub-signature-256': signatureOf(number.appSecret, body),
    },
    body: new Uint8Array(body),
  });
}

/** Keeps bodies for it as if another process had taken them. */
async function keep({ id }: CloudInstance, { count, sizeBytes }: { count: number; sizeBytes: number }) {
  await cloud.api.parts.db.query(
    `INSERT INTO network_inbox (instance_id, company_id, body, received_at)
     SELECT id, company_id, convert_to(repeat(' ', $2), 'UTF8'), now() FROM instances, generate_series(1, $3)
     WHERE id = $1`,
    [id, sizeBytes, count],
  );
}

async function waitingOf({ id }: CloudInstance): Promise<{ bytes: number; count: number }> {
  const { rows } = await cloud.api.parts.db.query<{ bytes: number; count: number }>(
    `SELECT coalesce(sum(length(body)), 0)::integer AS bytes, count(*)::integer AS count FROM network_inbox
     WHERE instance_id = $1`,
    [id],
  );
  return rows[0]!;
}

const refusals = async () => {
  const figures = await (await fetch(`${cloud.api.url}/metrics`)).text();
  return Number(/^posthorn_network_posts_refused_total (\d+)$/m.exec(figures)?.[1]);
};

it('an instance that is away keeps 128 MB of posts and asks for the rest again, which arrive once it is back', async () => {
  const instance = await away();
  const other = await cloud.connect();
  const body = Buffer.alloc(2 * MIB, 32);
  await keep(instance, { count: 60, sizeBytes: body.length });
  assert.equal((await post(instance, body)).status, 200);
  let answer: Response;
  let posted = 0;
  do {
    answer = await post(instance, body);
    posted += 1;
  } while (answer.status === 200 && posted < 20);
  assert.equal(answer.status, 503);
  assert.ok(Number(answer.headers.get('retry-after')) > 0);
  const { error_code } = (await answer.json()) as { error_code: string };
  assert.equal(error_code, 'SERVICE_UNAVAILABLE');
  // One process may not have heard of the last bodies that another one took.
  assert.ok((await waitingOf(instance)).bytes <= WAITING_MAX_BYTES + 16 * MIB);
  assert.equal(await refusals(), 1);
  await cloud.greet(other, FROM);

  const written = cloud.graph.write(FROM, instance.number, 'text', { body: 'While it was full' });
  await waitFor(async () => (await refusals()) > 1);
  // To hand all of them over takes minutes on a busy machine.
  await cloud.api.parts.db.query(
    'DELETE FROM network_inbox WHERE id IN (SELECT id FROM network_inbox LIMIT 56)',
  );
  await cloud.call(instance.id, 'POST', '/connect');
  await cloud.drained();
  const { rowCount } = await cloud.api.parts.db.query(
    'SELECT FROM messages WHERE instance_id = $1 AND network_id = $2',
    [instance.id, written],
  );
  assert.equal(rowCount, 1);
});

it('bodies of a few bytes count as a kilobyte, as each takes up room of its own', async () => {
  const instance = await away();
  await keep(instance, { count: WAITING_MAX_BYTES / 1024, sizeBytes: 2 });
  assert.equal((await post(instance, Buffer.from('{}'))).status, 503);
  await cloud.api.parts.db.query('DELETE FROM network_inbox WHERE id % 2 = 0');
  // The service measures anew now and then what waits, and on a busy machine that takes long.
  await waitFor(async () => (await post(instance, Buffer.from('{}'))).status === 200);
});

it('many bodies at once fill it no further', async () => {
  const instance = await away();
  const body = Buffer.alloc(RAW_BODY_MAX_BYTES, 32);
  const most = Math.floor(WAITING_MAX_BYTES / body.length);
  await keep(instance, { count: most - 10, sizeBytes: body.length });
  const answers = await Promise.all(Array.from({ length: 30 }, () => post(instance, body)));
  const taken = answers.filter(({ status }) => status === 200).length;
  // A look while others are being stored may count these twice, and never misses them.
  assert.ok(taken <= 10 && taken >= 5, `${taken} of 10`);
  assert.equal((await waitingOf(instance)).count, most - 10 + taken);
});
