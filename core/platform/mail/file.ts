import { mkdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../process/log.ts';
import type { Mailer } from './mail.ts';

/** Without a mail server: each mail becomes `<directory>/<id>-<kind>.eml`, and a log line says where. */
export function createFileMailer(options: { directory: string; from: string; log: Log }): Mailer {
  return {
    async send(mail) {
      // Most processes write no mail, and the library stays in memory once it is loaded.
      const { default: nodemailer } = await import('nodemailer');
      const transport = nodemailer.createTransport({
        streamTransport: true,
        buffer: true,
        newline: 'windows',
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      const { message } = await transport.sendMail({
        from: options.from,
        to: { name: '', address: mail.to },
        subject: mail.subject,
        text: mail.text,
        html: mail.html,
        messageId: `<${mail.id}@posthorn>`,
        headers: { 'Auto-Submitted': 'auto-generated' },
      });
      await mkdir(options.directory, { recursive: true });
      const file = join(options.directory, `${mail.id}-${mail.kind}.eml`);
      // Renamed into place: a program that watches the folder never reads half a mail.
      await writeFile(`${file}.part`, message as Buffer, { mode: 0o600 });
      await rename(`${file}.part`, file);
      // A warning, so that it is seen: nobody gets this mail unless somebody looks there.
      options.log.warn({ file, kind: mail.kind }, 'mail written to a file: SMTP_URL is not set');
    },
    async close() {},
  };
}
