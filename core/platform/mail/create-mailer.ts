import { join, resolve } from 'node:path';
import type { Config } from '../config.ts';
import type { Log } from '../process/log.ts';
import type { Mailer } from './mail.ts';

/** Where mails become files without SMTP_URL; null with it. */
export function mailFolder(config: Pick<Config, 'SMTP_URL' | 'DATA_DIR'>): string | null {
  return config.SMTP_URL ? null : resolve(join(config.DATA_DIR, 'mail'));
}

/** SMTP when SMTP_URL is set, else files under DATA_DIR/mail. */
export async function createMailer(
  config: Pick<Config, 'SMTP_URL' | 'MAIL_FROM' | 'DATA_DIR'>,
  log: Log,
): Promise<Mailer> {
  if (config.SMTP_URL) {
    const { createSmtpMailer } = await import('./smtp.ts');
    return createSmtpMailer({ url: config.SMTP_URL, from: config.MAIL_FROM });
  }
  const { createFileMailer } = await import('./file.ts');
  return createFileMailer({ directory: mailFolder(config)!, from: config.MAIL_FROM, log });
}
