import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { type ParsedMail, simpleParser } from 'mailparser';

export interface ReadMail {
  to: string;
  from: string;
  subject: string;
  text: string;
  html: string;
  messageId: string;
}

/** Every mail of a folder of .eml files, oldest first. */
export async function readMails(directory: string): Promise<ReadMail[]> {
  const names = await readdir(directory).catch(() => [] as string[]);
  const mails = await Promise.all(
    names
      .filter((name) => name.endsWith('.eml'))
      .sort()
      .map(async (name) => readMail(await simpleParser(await readFile(path.join(directory, name))))),
  );
  return mails;
}

export function readMail(parsed: ParsedMail): ReadMail {
  const to = Array.isArray(parsed.to) ? parsed.to[0] : parsed.to;
  return {
    to: to?.value[0]?.address ?? '',
    from: parsed.from?.value[0]?.address ?? '',
    subject: parsed.subject ?? '',
    text: parsed.text ?? '',
    html: parsed.html || '',
    messageId: parsed.messageId ?? '',
  };
}

/** The six-digit code in a mail. */
export function codeIn(mail: ReadMail): string {
  const code = /^\s+(\d{6})$/m.exec(mail.text)?.[1] ?? /\b(\d{6})\b/.exec(mail.text)?.[1];
  if (!code) throw new Error(`no code in "${mail.subject}"`);
  return code;
}

/** The token of a link to /reset-password or /invite. */
export function linkTokenIn(mail: ReadMail): string {
  const token = /\/(?:reset-password|invite)\?token=([\w-]+)/.exec(mail.text)?.[1];
  if (!token) throw new Error(`no link in "${mail.subject}"`);
  return token;
}
