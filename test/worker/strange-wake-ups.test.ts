import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import type { WakeUp } from '@posthorn/core/sending/publish-outbox.ts';
import { startTakingWakeUps } from '@posthorn/worker/relay/take-wake-ups.ts';
import { waitFor } from '../support/process.ts';

/** More than a worker takes at once. */
const MANY = 200;

test('messages that are no wake-ups do not keep the ones behind them waiting', async (t) => {
  const broker = createInProcessBroker();
  t.after(() => broker.close());
  let queue = '';
  const heard: WakeUp[] = [];
  const taking = startTakingWakeUps({
    // Unregistered, so it names its queue nowhere.
    db: null as never,
    membership: { id: () => null, onAlive: () => undefined } as never,
    log: createLog({ level: 'silent', role: 'test' }),
    broker: {
      ...broker,
      consumeOwn: (options, handle, onQueue) =>
        broker.consumeOwn(options, handle, (name) => {
          queue = name;
          onQueue(name);
        }),
    },
    sessions: { onWakeUps: (wakeUps) => void heard.push(...wakeUps), lookForWork: () => undefined },
  });
  t.after(() => taking.stop());
  await waitFor(() => queue !== '');
  const strange = [null, 7, 'text', {}, { instances: null }, { instances: 'text' }, { instances: {} }];
  for (let nth = 0; nth < MANY; nth += 1) await broker.publish(queue, strange[nth % strange.length]);
  const good = { instanceId: 'good', upToSeq: 8 };
  await broker.publish(queue, { instances: [null, 7, {}, { instanceId: 'bad', upToSeq: '1' }, good] });
  await waitFor(() => heard.length > 0);
  assert.deepEqual(heard, [good]);
});
