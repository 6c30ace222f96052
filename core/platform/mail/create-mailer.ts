import { join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { Log } from '../process/log.ts';
import { createFileMailer } from './file.ts';
import type { Mailer } from './mail.ts';
import { createSmtpMailer } from './smtp.ts';

/** Where mails become files without SMTP_URL; null with it. */
export function mailFolder(config: Pick<Config, 'SMTP_URL' | 'DATA_DIR'>): string | null {
  return config.SMTP_URL ? null : resolve(join(config.DATA_DIR, 'mail'));
}

/** SMTP when SMTP_URL is set, else files under DATA_DIR/mail. */
export function createMailer(config: Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'DATA_DIR'>, log: Log): Mailer {
  if (config.SMTP_URL) return createSmtpMailer({ url: config.SMTP_URL, from: config.MAIL_FROM });
  return createFileMailer({ directory: mailFolder(config)!, from: config.MAIL_FROM, log });
}
