import { join, resolve } from 'node:path';
import type { Config } from './config.ts';
import type { Log } from './log.ts';
import type { Mailer } from './mail.ts';
import { createFileMailer } from './mail-file.ts';
import { createSmtpMailer } from './mail-smtp.ts';

/** SMTP when SMTP_URL is set, else files under DATA_DIR/mail (design 5). */
export function createMailer(config: Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'DATA_DIR'>, log: Log): Mailer {
  if (config.SMTP_URL) return createSmtpMailer({ url: config.SMTP_URL, from: config.MAIL_FROM });
  return createFileMailer({ directory: resolve(join(config.DATA_DIR, 'mail')), from: config.MAIL_FROM, log });
}
