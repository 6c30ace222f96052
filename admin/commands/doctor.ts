import { StartError, withCauses } from '@posthorn/core/platform/run-main.ts';
import {
  checkBillingRole,
  checkClock,
  checkDatabase,
  checkPooler,
  checkSchema,
  checkStandby,
  checkWrites,
} from '../checks/database.ts';
import { checkBroker, checkDisk, checkFfmpeg, checkNode, checkStorage } from '../checks/machine.ts';
import { checkJobs, checkKeys, checkWorkers } from '../checks/state.ts';
import type { AdminCommand, AdminDeps, Finding } from '../command.ts';

const CHECKS: Readonly<Record<string, (deps: AdminDeps) => Promise<Finding>>> = {
  'Node.js': checkNode,
  database: checkDatabase,
  pooler: checkPooler,
  'standby for reports': checkStandby,
  schema: checkSchema,
  writes: checkWrites,
  'role of billing': checkBillingRole,
  clock: checkClock,
  broker: checkBroker,
  storage: checkStorage,
  disk: checkDisk,
  ffmpeg: checkFfmpeg,
  keys: checkKeys,
  workers: checkWorkers,
  jobs: checkJobs,
};

export const doctor: AdminCommand = {
  usage: 'doctor',
  summary:
    'check everything an installation needs: settings, connections, versions, rights, clock, disk, keys',
  prepare(args) {
    if (args.length > 0) throw new StartError('doctor takes no arguments');
    return checkAll;
  },
};

async function checkAll(deps: AdminDeps): Promise<boolean> {
  // Those that are wrong have ended this before.
  deps.tell('ok      settings: complete');
  let isFine = true;
  for (const [name, check] of Object.entries(CHECKS)) {
    try {
      const { says, isRemark } = await check(deps);
      deps.tell(`${isRemark ? 'look at' : 'ok     '} ${name}: ${says}`);
    } catch (err) {
      isFine = false;
      deps.tell(`WRONG   ${name}: ${withCauses(err)}`);
    }
  }
  return isFine;
}
