import { resealAll } from '@posthorn/core/operations/reseal.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { keyMark, requireKeyOfWorkers } from '@posthorn/core/workers/key-mark.ts';
import type { AdminCommand, AdminDeps } from '../command.ts';

export const reseal: AdminCommand = {
  usage: 'reseal',
  summary: 'seal with ENCRYPTION_KEY, if the workers do, all values that another accepted key has sealed',
  prepare(args) {
    if (args.length > 0) throw new StartError('reseal takes no arguments');
    return sealAnew;
  },
};

async function sealAnew({ config, db, tell }: AdminDeps): Promise<boolean> {
  const cipher = createCipher(config.ENCRYPTION_KEY, config.ENCRYPTION_KEYS_ACCEPTED);
  await requireKeyOfWorkers(db, keyMark(cipher));
  const done = await resealAll({ db, cipher });
  for (const { table, column, checked, resealed, unreadable } of done)
    tell(`${table}.${column}: ${checked} checked, ${resealed} sealed anew, ${unreadable} unreadable`);
  const unreadable = done.reduce((sum, column) => sum + column.unreadable, 0);
  if (unreadable > 0) tell(`no accepted key opens ${unreadable} values`);
  return unreadable === 0;
}
