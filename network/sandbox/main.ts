/** `npm run sandbox`: the sandbox network as a process of its own. */
import { join } from 'node:path';
import { pino } from 'pino';
import { z } from 'zod/v4';
import { createSandboxServer } from './server.ts';

const environment = z.object({
  SANDBOX_PORT: z.coerce.number().int().min(0).max(65_535).default(8090),
  SANDBOX_HOST: z.string().min(1).default('127.0.0.1'),
  SANDBOX_AUTO_PAIR: z.stringbool().default(true),
  DATA_DIR: z.string().min(1).default('.data'),
  LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
});

async function main(): Promise<void> {
  const parsed = environment.safeParse(process.env);
  if (!parsed.success) {
    const issue = parsed.error.issues[0]!;
    stop(`${issue.path.join('.')}: ${issue.message}`);
    return;
  }
  const env = parsed.data;
  const log = pino({ level: env.LOG_LEVEL, base: { service: 'sandbox' } });
  const server = await createSandboxServer({
    port: env.SANDBOX_PORT,
    host: env.SANDBOX_HOST,
    autoPair: env.SANDBOX_AUTO_PAIR,
    dataDir: join(env.DATA_DIR, 'sandbox'),
    log,
  });
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      server.close().then(
        () => log.info({}, 'sandbox network stopped'),
        (error: unknown) => stop(String(error)),
      );
    });
  }
}

function stop(reason: string): void {
  process.stderr.write(`sandbox: ${reason}\n`);
  process.exitCode = 1;
}

main().catch((error: unknown) => stop(error instanceof Error ? error.message : String(error)));
