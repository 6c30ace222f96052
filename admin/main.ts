import { loadConfig } from '@posthorn/core/platform/config.ts';
import { createDb } from '@posthorn/core/platform/database/db.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { runMain, StartError } from '@posthorn/core/platform/run-main.ts';
import type { AdminCommand } from './command.ts';
import { doctor } from './commands/doctor.ts';
import { drain } from './commands/drain.ts';
import { erase } from './commands/erase.ts';
import { exportData } from './commands/export.ts';
import { move } from './commands/move.ts';
import { requeue } from './commands/requeue.ts';
import { reseal } from './commands/reseal.ts';
import { shards } from './commands/shards.ts';

/** Runs an operator's command: `npm run admin -- <command>`, in the image `posthorn admin <command>`. */
const COMMANDS: Readonly<Record<string, AdminCommand>> = {
  doctor,
  drain,
  shards,
  move,
  reseal,
  requeue,
  export: exportData,
  erase,
};

await runMain('admin', async () => {
  const [name = 'help', ...args] = process.argv.slice(2);
  if (name === 'help' || name === '--help') return console.log(help());
  const command = COMMANDS[name];
  if (!command) throw new StartError(`${name} is no command: ${Object.keys(COMMANDS).join(', ')}`);
  const config = loadConfig(process.env);
  const log = createLog({ level: 'warn', role: 'admin' });
  // Patient: its statements read whole tables.
  const limits = { idleInTransactionMs: 60_000, lockMs: 60_000, statementMs: 900_000 };
  const db = createDb({ url: config.DATABASE_URL, poolSize: 4, log, name: 'admin', limits });
  try {
    const isFine = await command.run({ config, db, log, tell: (line) => console.log(line) }, args);
    if (!isFine) process.exitCode = 1;
  } finally {
    await db.close();
  }
});

function help(): string {
  const lines = Object.values(COMMANDS).map(({ usage, summary }) => `  ${usage.padEnd(44)} ${summary}`);
  return ['npm run admin -- <command>, with the settings of the roles', '', ...lines].join('\n');
}
