import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';
import type { Sending, TestInstance } from '../support/sending.ts';
import { aWhile, type Suspending, startSuspending } from './suspending.ts';

let at: Suspending;
let pipeline: Sending;
let instance: TestInstance;

before(async () => {
  at = await startSuspending();
  pipeline = at.pipeline;
});
after(() => pipeline.close());
beforeEach(async () => {
  await at.setStatus('active');
  instance = await pipeline.connect();
});

describe('while a company is suspended,', () => {
  const ways: [string, string, object?][] = [
    ['POST', '/connect'],
    ['POST', '/restart'],
    ['POST', '/pairing-code', { phone: '5511988887777' }],
    ['POST', '/messages/text', { to: '5511988887777', text: 'now' }],
  ];

  for (const [method, path, body] of ways) {
    test(`a superadmin's ${method} ${path} is 403 COMPANY_SUSPENDED`, async () => {
      const unpaired = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
        state: 'CREATED',
      });
      await at.setStatus('suspended');
      await at.stateBecomes('DISCONNECTED', instance.id);
      for (const id of [instance.id, unpaired]) {
        const answer = await at.asRoot(id, method, path, body);
        assert.deepEqual([answer.status, answer.body.error_code], [403, 'COMPANY_SUSPENDED']);
      }
      await aWhile();
      assert.equal((await at.row(instance.id)).state, 'DISCONNECTED');
      assert.equal((await at.row(unpaired)).state, 'CREATED');
    });

    test(`a ${method} ${path} that passed the gate as the suspension was being written has no effect`, async () => {
      const unpaired = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
        state: 'CREATED',
      });
      const target = { ...instance, id: path === '/messages/text' ? instance.id : unpaired };
      const client = await pipeline.api.parts.db.pool.connect();
      try {
        await client.query('BEGIN');
        await client.query(`UPDATE companies SET status = 'suspended' WHERE id = $1`, [
          pipeline.company.companyId,
        ]);
        const answering = pipeline.call(target, method, path, body);
        await new Promise((resolve) => setTimeout(resolve, 100));
        await client.query(`SELECT pg_notify('instance', $1)`, [instance.id]);
        await client.query('COMMIT');
        const answer = await answering;
        // A send may have been accepted before; it stays queued like every other one.
        if (answer.status === 202) assert.equal(path, '/messages/text');
        else assert.deepEqual([answer.status, answer.body.error_code], [403, 'COMPANY_SUSPENDED']);
      } finally {
        client.release();
      }
      if (target.id === instance.id) await at.stateBecomes('DISCONNECTED', instance.id);
      await aWhile();
      assert.ok(['CREATED', 'DISCONNECTED'].includes((await at.row(target.id)).state));
    });
  }

  test('a connect that was answered before and is not done yet has no effect', async () => {
    const fresh = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, { state: 'CREATED' });
    const [connected] = await Promise.all([
      pipeline.call({ ...instance, id: fresh }, 'POST', '/connect'),
      at.setStatus('suspended'),
    ]);
    assert.ok([202, 403].includes(connected.status));
    await at.stateBecomes('DISCONNECTED', instance.id);
    await aWhile();
    assert.notEqual((await at.row(fresh)).state, 'CONNECTED');
  });

  test('a QR that is scanned by itself a little later connects nothing', async () => {
    const fresh = await seedInstance(pipeline.api.parts.db, pipeline.company.companyId, {
      state: 'CREATED',
      wanted: 'connected',
    });
    pipeline.api.parts.bus.notify('instance', fresh);
    await waitFor(async () => (await at.row(fresh)).state !== 'CREATED');
    await at.setStatus('suspended');
    await at.stateBecomes('DISCONNECTED', fresh);
    await aWhile();
    assert.equal((await at.row(fresh)).state, 'DISCONNECTED');
  });

  test('a worker that starts opens no session for an instance that is to be connected, or was', async () => {
    const { db, bus } = pipeline.api.parts;
    await at.setStatus('suspended');
    const wanted = await seedInstance(db, pipeline.company.companyId, {
      state: 'DISCONNECTED',
      wanted: 'connected',
    });
    const written = await seedInstance(db, pipeline.company.companyId, {
      state: 'CONNECTED',
      wanted: 'connected',
    });
    // As after a restart: the worker knows nothing of them, and looks at them.
    for (const id of [wanted, written]) bus.notify('instance', id);
    await at.stateBecomes('DISCONNECTED', written);
    await aWhile();
    assert.equal((await at.row(wanted)).state, 'DISCONNECTED');
  });

  test('an instance stays disconnected until the suspensions of company and subscription have both ended', async () => {
    await at.suspendSubscription(true);
    await at.stateBecomes('DISCONNECTED', instance.id);
    await at.setStatus('suspended');
    await at.suspendSubscription(false);
    await aWhile();
    assert.equal((await at.row(instance.id)).state, 'DISCONNECTED');
    await at.setStatus('active');
    await at.stateBecomes('CONNECTED', instance.id);
  });

  test('an instance may be disconnected by hand, and stays so after the reactivation', async () => {
    await at.suspendSubscription(true);
    await at.stateBecomes('DISCONNECTED', instance.id);
    assert.equal((await pipeline.call(instance, 'POST', '/disconnect')).status, 202);
    await at.suspendSubscription(false);
    await aWhile();
    assert.equal((await at.row(instance.id)).state, 'DISCONNECTED');
  });
});

describe('a deleted company', () => {
  test('has no way back, for nobody', async () => {
    const { db, bus } = pipeline.api.parts;
    const gone = await seedCompany(db);
    const id = await seedInstance(db, gone.companyId, { state: 'DISCONNECTED', wanted: 'connected' });
    await db.query(`UPDATE companies SET status = 'deleted', deleted_at = now() WHERE id = $1`, [
      gone.companyId,
    ]);
    bus.notify('instance', id);
    for (const [method, path, body] of [
      ['POST', '/connect', undefined],
      ['POST', '/pairing-code', { phone: '5511988887777' }],
      ['POST', '/messages/text', { to: '5511988887777', text: 'now' }],
    ] as const) {
      const answer = await at.asRoot(id, method, path, body);
      assert.deepEqual([answer.status, answer.body.error_code], [403, 'COMPANY_SUSPENDED']);
    }
    await aWhile();
    assert.equal((await at.row(id)).state, 'DISCONNECTED');
  });
});
