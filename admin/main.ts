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
import { adminSettings } from './settings.ts';

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
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (!command) throw new StartError(`${name} is no command: ${Object.keys(COMMANDS).join(', ')}`);
  if (args.includes('--help')) return console.log(lineOf(command).trim());
  const run = command.prepare(args);
  const { config, hasBroker } = adminSettings(process.env);
  const log = createLog({ level: 'warn', role: 'admin' });
  // Patient: its statements read whole tables.
  const limits = { idleInTransactionMs: 60_000, lockMs: 60_000, statementMs: 900_000 };
  const db = createDb({ url: config.DATABASE_URL, poolSize: 4, log, name: 'admin', limits });
  try {
    const isFine = await run({ config, hasBroker, db, log, tell: (line) => console.log(line) });
    if (!isFine) process.exitCode = 1;
  } finally {
    await db.close();
  }
});

function help(): string {
  return [
    'npm run admin -- <command>, with the settings of the roles, or beside an npm start on the same DATA_DIR',
    '',
    ...Object.values(COMMANDS).map(lineOf),
  ].join('\n');
}

function lineOf({ usage, summary }: AdminCommand): string {
  return `  ${usage.padEnd(44)} ${summary}`;
}
