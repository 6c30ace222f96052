/** `npm run sandbox`: the sandbox network in its own process. */
import { join } from 'node:path';
import { ConfigError } from '@posthorn/core/platform/config.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createShutdown } from '@posthorn/core/platform/process/shutdown.ts';
import { runMain } from '@posthorn/core/platform/run-main.ts';
import { z } from 'zod/v4';
import { createSandboxServer } from './server.ts';

const environment = z.object({
  SANDBOX_PORT: z.coerce.number().int().min(0).max(65_535).default(8090),
  SANDBOX_HOST: z.string().min(1).default('127.0.0.1'),
  SANDBOX_ALLOWED_HOSTS: z.string().default(''),
  SANDBOX_KEEP_MESSAGES: z.coerce.number().int().positive().optional(),
  SANDBOX_AUTO_PAIR: z.stringbool().default(true),
  DATA_DIR: z.string().min(1).default('.data'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  SHUTDOWN_GRACE_SECONDS: z.coerce.number().int().positive().default(10),
});

await runMain('sandbox', async () => {
  const given = Object.entries(process.env).filter(([, value]) => value !== '');
  const parsed = environment.safeParse(Object.fromEntries(given));
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    throw new ConfigError(`${issue.path.join('.')}: ${issue.message}`);
  }
  const env = parsed.data;
  const log = createLog({ level: env.LOG_LEVEL, role: 'sandbox' });
  const shutdown = createShutdown({ log, graceMs: env.SHUTDOWN_GRACE_SECONDS * 1000 });
  shutdown.onSignals();
  const server = await createSandboxServer({
    port: env.SANDBOX_PORT,
    host: env.SANDBOX_HOST,
    allowedHosts: env.SANDBOX_ALLOWED_HOSTS.split(','),
    autoPair: env.SANDBOX_AUTO_PAIR,
    ...(env.SANDBOX_KEEP_MESSAGES ? { keepMessages: env.SANDBOX_KEEP_MESSAGES } : {}),
    dataDir: join(env.DATA_DIR, 'sandbox'),
    log,
  });
  shutdown.add('sandbox network', () => server.close());
});
