import { test } from 'node:test';
import { FROZEN_MS, freezeUnderLoad } from './freeze-under-load.ts';
import { leaderAndOther } from './hurt-workers.ts';

test(`the API frozen for ${FROZEN_MS / 1000} s: sends through another and streams go on, nothing is doubled`, (t) =>
  freezeUnderLoad(t, 'the API', async (system) => {
    system.messaging[0]!.signal('SIGSTOP');
    return system.messaging[0]!;
  }));

test(`the worker that owns shard 0 frozen for ${FROZEN_MS / 1000} s: sends and streams go on, nothing is doubled`, (t) =>
  freezeUnderLoad(t, 'the owner of shard 0', async (system) => {
    const { leader } = await leaderAndOther(system);
    leader.process.signal('SIGSTOP');
    return leader.process;
  }));
