import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { openMedia } from '@posthorn/core/media/open-media.ts';
import type { Config } from '@posthorn/core/platform/config.ts';
import { createDb, type Db } from '@posthorn/core/platform/database/db.ts';
import { createOrm } from '@posthorn/core/platform/database/orm.ts';
import { createCipher } from '@posthorn/core/platform/encryption.ts';
import { createFileMailer } from '@posthorn/core/platform/mail/file.ts';
import type { Mailer } from '@posthorn/core/platform/mail/mail.ts';
import { createMetrics } from '@posthorn/core/platform/process/metrics.ts';
import { createMessagingServer } from '@posthorn/server/messaging/app.ts';
import { messagingEntities } from '@posthorn/server/messaging/entities.ts';
import { createMailSender, type MailSender } from '@posthorn/worker/mail/mail-sender.ts';
import { testConfig } from '../../support/config.ts';
import { createParts, type Parts } from '../../support/parts.ts';
import { type Api, createApi } from './api-client.ts';
import { type ReadMail, readMails } from './mailbox.ts';

/** The messaging server and the mail worker on a database of the test file's own, under one movable clock. */
export interface AccountServer extends Parts {
  baseUrl: string;
  api: Api;
  config: Config;
  hotDb: Db;
  mailSender: MailSender;
  /** Lets the worker send the mails that are due, and returns every mail to `to`, oldest first. */
  mailsTo(to: string): Promise<ReadMail[]>;
  /** The newest mail to `to`. Throws when there is none. */
  lastMail(to: string): Promise<ReadMail>;
}

export async function startAccountServer(
  env: Record<string, string> = {},
  options: {
    mailer?: Mailer;
    validateResponses?: boolean;
    /** Parts that another owner closes, e.g. for both services on one database. */
    parts?: Parts;
  } = {},
): Promise<AccountServer> {
  const parts = options.parts ?? (await createParts());
  const dataDir = mkdtempSync(path.join(tmpdir(), 'posthorn-accounts-'));
  const config = testConfig({ RATE_LIMIT_PER_MINUTE: '1000000', DATA_DIR: dataDir, ...env });
  const mailDir = path.join(dataDir, 'mail');
  const { db, bus, clock, log, url } = parts;
  const hotDb = createDb({ url, poolSize: 4, log, name: 'test hot', plans: 'indexed' });
  const orm = await createOrm({ url, entities: messagingEntities, name: 'test' });
  const media = await openMedia({ config, db, clock });
  const closeParts = async () => {
    await media.close();
    await orm.close();
    await hotDb.close();
    if (!options.parts) await parts.close();
    rmSync(dataDir, { recursive: true, force: true, maxRetries: 10 });
  };
  const server = await createMessagingServer({
    config,
    db,
    hotDb,
    orm,
    bus,
    clock,
    log,
    media,
    metrics: createMetrics({ collectProcess: false }),
    validateResponses: options.validateResponses ?? true,
  }).catch(async (err) => {
    // Otherwise the test's process would wait for connections that are left open.
    await closeParts();
    throw err;
  });
  const baseUrl = `http://127.0.0.1:${await server.listen(0, '127.0.0.1')}`;
  const mailSender = createMailSender({
    db,
    bus,
    clock,
    log,
    cipher: createCipher(config.ENCRYPTION_KEY),
    mailer: options.mailer ?? createFileMailer({ directory: mailDir, from: config.MAIL_FROM, log }),
    settings: { frontendUrl: config.FRONTEND_URL, passwordResetTtlMinutes: config.PASSWORD_RESET_TTL },
  });

  async function mailsTo(to: string): Promise<ReadMail[]> {
    while ((await mailSender.runOnce()) > 0);
    return (await readMails(mailDir)).filter((mail) => mail.to === to);
  }

  return {
    ...parts,
    baseUrl,
    api: createApi(baseUrl),
    config,
    hotDb,
    mailSender,
    mailsTo,
    async lastMail(to) {
      const mail = (await mailsTo(to)).at(-1);
      if (!mail) throw new Error(`no mail to ${to}`);
      return mail;
    },
    async close() {
      await server.close();
      await mailSender.stop();
      await closeParts();
    },
  };
}
