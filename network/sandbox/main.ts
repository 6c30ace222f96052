/** `npm run sandbox`: the sandbox network in its own process. */
import { join } from 'node:path';
import { configSchema, readSettings } from '@posthorn/core/platform/config.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createShutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { createSandboxServer } from './server.ts';

const settings = configSchema.pick({
  SANDBOX_PORT: true,
  SANDBOX_HOST: true,
  SANDBOX_ALLOWED_HOSTS: true,
  SANDBOX_KEEP_MESSAGES: true,
  SANDBOX_AUTO_PAIR: true,
  DATA_DIR: true,
  LOG_LEVEL: true,
  SHUTDOWN_GRACE_SECONDS: true,
});

await runMain('sandbox', async () => {
  const env = readSettings(settings, process.env);
  const log = createLog({ level: env.LOG_LEVEL, role: 'sandbox' });
  const shutdown = createShutdown({ log, graceMs: env.SHUTDOWN_GRACE_SECONDS * 1000 });
  shutdown.onSignals();
  const server = await createSandboxServer({
    port: env.SANDBOX_PORT,
    host: env.SANDBOX_HOST,
    allowedHosts: env.SANDBOX_ALLOWED_HOSTS.split(','),
    autoPair: env.SANDBOX_AUTO_PAIR,
    keepMessages: env.SANDBOX_KEEP_MESSAGES,
    dataDir: join(env.DATA_DIR, 'sandbox'),
    log,
  });
  shutdown.add('sandbox network', () => server.close());
});
