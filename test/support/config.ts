import { type Config, loadConfig } from '@posthorn/core/platform/config.ts';

/** Settings for a server inside a test; the addresses of its parts are passed separately. */
export function testConfig(env: Record<string, string> = {}): Config {
  return loadConfig({
    NODE_ENV: 'test',
    LOG_LEVEL: 'silent',
    DATABASE_URL: 'postgres://127.0.0.1/unused',
    AMQP_URL: 'amqp://127.0.0.1',
    JWT_SECRET: 'a secret of the tests, long enough for HS256',
    ENCRYPTION_KEY: '5a'.repeat(32),
    // Every test asks from the same address.
    PUBLIC_RATE_PER_MINUTE: '1000000',
    ...env,
  });
}
