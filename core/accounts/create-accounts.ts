import { createMailQueue } from '../mail/mail-queue.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Config } from '../platform/config.ts';
import type { Db } from '../platform/database/db.ts';
import { createCipher } from '../platform/encryption.ts';
import { withoutTrailingSlashes } from '../platform/http/base-url.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Log } from '../platform/process/log.ts';
import { createAuthenticator, type LocalAuthenticator } from './authentication/create-authenticator.ts';
import { createJwt } from './authentication/jwt.ts';
import type { AccountDeps } from './deps.ts';
import { createPasswordHasher } from './passwords/password.ts';
import { createSecretDigest } from './secret-digest.ts';

/** The parts of accounts in one process: the authenticator, and the dependencies of the use cases. */
export interface Accounts {
  authenticator: LocalAuthenticator;
  deps: AccountDeps;
}

export function createAccounts(
  parts: { db: Db; bus: Bus; clock: Clock; log: Log },
  config: Pick<
    Config,
    | 'JWT_SECRET'
    | 'JWT_SECRETS_ACCEPTED'
    | 'ENCRYPTION_KEY'
    | 'ENCRYPTION_KEYS_ACCEPTED'
    | 'PUBLIC_URL'
    | 'FRONTEND_URL'
    | 'SUPERADMIN_EMAILS'
    | 'PASSWORD_RESET_TTL'
    | 'REFRESH_TTL_DAYS'
    | 'SESSION_MAX_DAYS'
    | 'RATE_LIMIT_PER_MINUTE'
  >,
): Accounts {
  const { db, bus, clock, log } = parts;
  const jwt = createJwt({ secret: config.JWT_SECRET, accepted: config.JWT_SECRETS_ACCEPTED, clock });
  const cipher = createCipher(config.ENCRYPTION_KEY, config.ENCRYPTION_KEYS_ACCEPTED);
  const authenticator = createAuthenticator({
    db,
    bus,
    clock,
    log,
    jwt,
    superadminEmails: config.SUPERADMIN_EMAILS,
    requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
  });
  return {
    authenticator,
    deps: {
      db,
      clock,
      log,
      jwt,
      passwords: createPasswordHasher(),
      mails: createMailQueue({ cipher, clock }),
      cipher,
      digest: createSecretDigest(config.JWT_SECRET, config.JWT_SECRETS_ACCEPTED),
      forget: authenticator.forget,
      settings: {
        publicUrl: withoutTrailingSlashes(config.PUBLIC_URL),
        frontendUrl: withoutTrailingSlashes(config.FRONTEND_URL),
        superadminEmails: config.SUPERADMIN_EMAILS,
        passwordResetTtlMinutes: config.PASSWORD_RESET_TTL,
        refreshTtlDays: config.REFRESH_TTL_DAYS,
        sessionMaxDays: config.SESSION_MAX_DAYS,
        requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
      },
    },
  };
}
