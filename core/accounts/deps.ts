import type { AuthSubject } from '../access/forget-cached.ts';
import type { MailQueue } from '../mail/mail-queue.ts';
import type { Db } from '../platform/database/db.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { Log } from '../platform/process/log.ts';
import type { Jwt } from './authentication/jwt.ts';
import type { PasswordHasher } from './passwords/password.ts';
import type { SecretDigest } from './secret-digest.ts';

/** Dependencies that the use cases of accounts share. Each names the ones that it uses with `Pick`. */
export interface AccountDeps {
  db: Db;
  clock: Clock;
  log: Log;
  jwt: Jwt;
  passwords: PasswordHasher;
  mails: MailQueue;
  cipher: Cipher;
  digest: SecretDigest;
  /** Drops a key of the cache in this process before the answer goes out; the others are notified over the bus. */
  forget(...subjects: AuthSubject[]): void;
  settings: AccountSettings;
}

export interface AccountSettings {
  publicUrl: string;
  /** Base URL of the pages that mails and redirects link to. */
  frontendUrl: string;
  superadminEmails: readonly string[];
  passwordResetTtlMinutes: number;
  /** Days without use. */
  refreshTtlDays: number;
  /** Days since the login. */
  sessionMaxDays: number;
  requestsPerMinute: number;
}
