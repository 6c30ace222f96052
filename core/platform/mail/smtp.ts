import nodemailer from 'nodemailer';
import { type Mailer, MailRefused } from './mail.ts';

/** Mails through an SMTP server (`smtp://user:password@host:587`, `smtps://` for TLS from the start). */
export function createSmtpMailer(options: { url: string; from: string }): Mailer {
  const url = new URL(options.url);
  const transport = nodemailer.createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port ? Number(url.port) : url.protocol === 'smtps:' ? 465 : 587,
    secure: url.protocol === 'smtps:',
    ...(url.username
      ? { auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } }
      : {}),
    tls: { rejectUnauthorized: url.searchParams.get('tls_verify') !== 'false' },
    pool: true,
    maxConnections: 3,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    // A mail consists of the text that we render: no files, no fetching.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return {
    async send(mail) {
      try {
        await transport.sendMail({
          from: options.from,
          to: { name: '', address: mail.to },
          subject: mail.subject,
          text: mail.text,
          html: mail.html,
          messageId: `<${mail.id}@posthorn>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        });
      } catch (cause) {
        const { responseCode, code } = cause as { responseCode?: number; code?: string };
        // 5xx to the envelope or the message is final; a refused log-in (EAUTH) is ours to mend.
        if (responseCode && responseCode >= 550 && responseCode < 560 && code !== 'EAUTH')
          throw new MailRefused(`refused with ${responseCode}`, { cause });
        throw cause;
      }
    },
    async close() {
      transport.close();
    },
  };
}
