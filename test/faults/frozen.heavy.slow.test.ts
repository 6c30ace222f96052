import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FROZEN_MS, freezeUnderLoad } from './freeze-under-load.ts';
import { freezeInTransaction, knownWorkers, leaderAndOther } from './hurt-workers.ts';

test(`another worker is frozen for ${FROZEN_MS / 1000} s: its instances continue, nothing is doubled`, (t) =>
  freezeUnderLoad(t, 'another worker', async (system) => {
    const { other } = await leaderAndOther(system);
    other.process.signal('SIGSTOP');
    return other.process;
  }));

test(`a worker is frozen for ${FROZEN_MS / 1000} s inside a transaction: sends and streams continue, nothing is doubled`, (t) =>
  freezeUnderLoad(t, 'a worker in a transaction', async (system) => {
    const [worker] = await knownWorkers(system);
    assert.ok(worker && (await freezeInTransaction(system.db, worker)), 'it was met inside a transaction');
    return worker.process;
  }));
