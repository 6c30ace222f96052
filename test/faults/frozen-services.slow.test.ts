import { test } from 'node:test';
import { sized } from '../support/size.ts';
import type { System } from '../support/system.ts';
import { FROZEN_MS, type Frozen, freezeUnderLoad } from './freeze-under-load.ts';
import { leaderAndOther } from './hurt-workers.ts';

async function freezeApi(system: System): Promise<Frozen> {
  const process = system.messaging[0]!;
  process.signal('SIGSTOP');
  return process;
}

async function freezeLeader(system: System): Promise<Frozen> {
  const { leader } = await leaderAndOther(system);
  leader.process.signal('SIGSTOP');
  return leader.process;
}

/** Both in one run; larger sizes freeze each of them alone. */
async function freezeBoth(system: System): Promise<Frozen> {
  const frozen = [await freezeLeader(system), await freezeApi(system)];
  return {
    signal(signal) {
      for (const process of frozen) process.signal(signal);
    },
  };
}

const each = [
  ['the API', freezeApi],
  ['the worker that owns shard 0', freezeLeader],
] as const;

const both = [['the API and the worker that owns shard 0', freezeBoth]] as const;

for (const [what, freeze] of sized<readonly (readonly [string, typeof freezeApi])[]>(both, each, each))
  test(`${what} frozen for ${FROZEN_MS / 1000} s: sends through others and streams go on, nothing is doubled`, (t) =>
    freezeUnderLoad(t, what, freeze));
