import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { tellFigure } from '../support/figures.ts';
import { projectRoot, type RunningProcess, waitFor } from '../support/process.ts';
import type { SeededCompany } from '../support/seed.ts';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { startReceiver } from '../webhooks/support.ts';
import { type ConnectedInstance, connectInstances, proveExactlyOnce, sendTexts } from './traffic.ts';
import { useSystem } from './use-system.ts';

const OFF_MS = 90_000;
const INSTANCES = 8;
const PER_INSTANCE = sized(30, 30, 300);
const SCHEDULED = sized(5, 5, 50);
/** Long enough to schedule them all on a busy machine. */
const AHEAD_MS = 30_000;
/** The allowed delay of a scheduled send; the runner looks once a second. */
const AIM_LATE_MS = 3_000;

/** Restarts a process on a machine whose clock is off by `offMs`. */
function restartOff(process: RunningProcess, offMs: number): Promise<void> {
  const preload = pathToFileURL(path.join(projectRoot, 'test/support/skewed-time.mjs')).href;
  return process.restart({ NODE_OPTIONS: `--import=${preload}`, TIME_OFF_MS: String(offMs) });
}

async function call(
  system: System,
  company: SeededCompany,
  instance: ConnectedInstance,
  ask: string,
  body: object,
) {
  const answer = await fetch(`${system.urls[0]}/v1/instances/${instance.id}/messages/${ask}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-api-key': company.apiKey,
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: answer.status, body: (await answer.json()) as Record<string, string> };
}

/** Schedules sends at times spread over some seconds; returns their ids by instance, in the order of their times. */
async function schedule(system: System, company: SeededCompany, instances: readonly ConnectedInstance[]) {
  const { rows } = await system.db.query<{ now: Date }>('SELECT clock_timestamp() AS now');
  const firstMs = rows[0]!.now.getTime() + AHEAD_MS;
  const ids = new Map<string, string[]>();
  await Promise.all(
    instances.map(async (instance, nth) => {
      const own: string[] = [];
      ids.set(instance.id, own);
      for (let i = 0; i < SCHEDULED; i += 1) {
        const { status, body } = await call(system, company, instance, 'scheduled', {
          type: 'text',
          send_at: new Date(firstMs + i * 200).toISOString(),
          body: { to: `5521${String(nth * 10_000 + i).padStart(9, '0')}`, text: 'later' },
        });
        assert.equal(status, 202, JSON.stringify(body));
        own.push(body.id!);
      }
    }),
  );
  return ids;
}

test('machines whose clocks are 90 s ahead and behind, and jump: owners answer, scheduled sends leave on time, no webhook comes twice', async (t) => {
  const system = await useSystem(t, { messaging: 2, workers: 3 });
  const [, ahead, behind] = system.workers;
  assert.ok(ahead && behind);
  await restartOff(ahead, OFF_MS);
  await restartOff(behind, -OFF_MS);
  await restartOff(system.messaging[0]!, OFF_MS);
  await restartOff(system.messaging[1]!, -OFF_MS);
  const { company, instances } = await connectInstances(system, INSTANCES);
  const attempts = new Map<string, number>();
  const receiver = await startReceiver(
    (req, res) => {
      const id = String(req.headers['webhook-id']);
      attempts.set(id, (attempts.get(id) ?? 0) + 1);
      // It is slow, so that deliveries stay claimed while other workers look for due ones.
      setTimeout(() => res.end('ok'), 300);
    },
    { keep: false },
  );
  t.after(() => receiver.close());
  const cipher = createCipher(system.env.ENCRYPTION_KEY!);
  await system.db.query(
    `INSERT INTO webhooks (company_id, url, patterns, enabled, secret) VALUES ($1, $2, '{*}', true, $3)`,
    [company.companyId, receiver.url, cipher.seal(`whsec_${Buffer.alloc(24, 7).toString('base64')}`)],
  );

  await t.test('/ready and the log say by how much, and the process is ready', async () => {
    for (const url of system.urls) {
      const answer = await fetch(`${url}/ready`);
      assert.equal(answer.status, 200);
      const { checks } = (await answer.json()) as { checks: Record<string, string> };
      assert.match(
        checks.clock!,
        /^ok, but the clock of this machine is (89|90)\.\d s (ahead of|behind) the database's$/,
      );
    }
    for (const process of [ahead, behind, ...system.messaging])
      assert.equal(process.output().match(/the clock of this machine differs/g)?.length, 1);
    assert.doesNotMatch(system.workers[0]!.output(), /clock of this machine/);
  });

  const scheduled = await schedule(system, company, instances);
  const traffic = sendTexts(system, company, instances, PER_INSTANCE, 100);

  await t.test('every call to an owner is answered', async () => {
    for (const instance of instances) {
      const message = await waitFor(async () => {
        const { rows } = await system.db.query<{ id: string; chat_jid: string }>(
          'SELECT id, chat_jid FROM messages WHERE instance_id = $1 AND sent_at IS NOT NULL LIMIT 1',
          [instance.id],
        );
        return rows[0];
      }, 60_000);
      const star = { chat_jid: message.chat_jid, message_id: message.id, starred: true };
      const { status, body } = await call(system, company, instance, 'star', star);
      assert.equal(status, 200, JSON.stringify(body));
    }
  });

  // The clock is off in the other direction, in the middle of the traffic.
  await waitFor(() => traffic.accepted() > (INSTANCES * PER_INSTANCE) / 2, 120_000);
  for (const process of [ahead, behind, ...system.messaging]) process.signal('SIGUSR2');
  const accepted = [await traffic.done, scheduled];
  await t.test('scheduled sends leave when they are due', async () => {
    const all = [...scheduled.values()].flat();
    const { rows } = await waitFor(
      async () => {
        const late = await system.db.query<{ early: number; late: number; n: number }>(
          `SELECT (extract(epoch FROM min(m.sent_at - s.send_at)) * 1000)::float8 AS early,
             (extract(epoch FROM max(m.created_at - s.send_at)) * 1000)::float8 AS late, count(*)::integer AS n
           FROM scheduled_sends s JOIN messages m ON m.id = s.id WHERE s.id = ANY ($1::uuid[])`,
          [all],
        );
        return late.rows[0]!.n === all.length && late;
      },
      120_000,
      { what: 'all scheduled sends were accepted', everyMs: 200 },
    );
    // Times are in ms, and the measured clock is exact to the round trip of one statement.
    assert.ok(rows[0]!.early > -250, `one left ${-rows[0]!.early} ms early`);
    tellFigure('a scheduled send is late by', rows[0]!.late, { atMost: AIM_LATE_MS });
    assert.ok(rows[0]!.late < OFF_MS, 'none waited for a clock that is behind');
  });

  await t.test('each message is sent once, and each event of it delivered once', async () => {
    await waitFor(
      async () => (await system.db.query('SELECT 1 FROM webhook_deliveries LIMIT 1')).rows.length === 0,
      180_000,
      { what: 'all deliveries are made', everyMs: 200 },
    );
    await proveExactlyOnce(system, instances, accepted);
    await delay(2_000);
    const twice = [...attempts.values()].filter((n) => n > 1).length;
    t.diagnostic(`${attempts.size} events delivered, ${twice} of them more than once`);
    assert.equal(twice, 0);
  });
});
