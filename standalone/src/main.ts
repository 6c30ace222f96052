import { flushCompileCache } from 'node:module';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createShutdown, shutdownTimes } from '@posthorn/core/platform/process/shutdown.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { announce } from './announce.ts';
import { collectGarbage } from './collect.ts';
import { noteAddresses } from './note-addresses.ts';
import { readSettings } from './settings.ts';
import { startStandalone } from './start.ts';

/** Everything in one process, without any setup: `npm start`. */
await runMain('posthorn', async () => {
  const settings = readSettings(process.env);
  const log = createLog({ level: settings.config.LOG_LEVEL, role: 'standalone' });
  const shutdown = createShutdown({ log, ...shutdownTimes(settings.config, { isBalanced: true }) });
  shutdown.onSignals();
  const onDeath = (what: string) => {
    process.stderr.write(`posthorn: ${what}\n`);
    void shutdown.begin(what).then(() => process.exit(1));
  };
  try {
    const standalone = await startStandalone({ settings, log, shutdown, onDeath });
    shutdown.add('addresses', noteAddresses(standalone));
    collectGarbage();
    if (!shutdown.isDraining()) process.stdout.write(announce(standalone, performance.now()));
    // Now rather than at the end, which a kill would skip.
    flushCompileCache();
  } catch (err) {
    // A signal during the start closes parts that the rest of the start then finds missing.
    if (shutdown.isDraining()) return;
    await shutdown.begin('the start failed');
    throw err;
  }
});
