import type { AccountSettings } from '@posthorn/core/accounts/deps.ts';
import { preparePasswordReset } from '@posthorn/core/accounts/passwords/prepare-password-reset.ts';
import {
  type ClaimedMail,
  claimMails,
  dropMail,
  failMail,
  retryMail,
} from '@posthorn/core/mail/claim-mails.ts';
import {
  createMailQueue,
  RESET_REQUEST,
  type SealedMail,
  type SealedResetRequest,
} from '@posthorn/core/mail/mail-queue.ts';
import type { Bus } from '@posthorn/core/platform/broker/bus.ts';
import type { Db } from '@posthorn/core/platform/database/db.ts';
import { DAY_MS } from '@posthorn/core/platform/durations.ts';
import type { Cipher } from '@posthorn/core/platform/encryption.ts';
import { type Mailer, MailRefused } from '@posthorn/core/platform/mail/mail.ts';
import type { Clock } from '@posthorn/core/platform/process/clock.ts';
import type { Log } from '@posthorn/core/platform/process/log.ts';
import { type Loop, startLoop } from '@posthorn/core/platform/process/loop.ts';
import type { Pulse } from '@posthorn/core/workers/pulse.ts';

export interface MailSenderDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  log: Log;
  cipher: Cipher;
  mailer: Mailer;
  settings: Pick<AccountSettings, 'frontendUrl' | 'passwordResetTtlMinutes'>;
  /** Without it, claims on this worker's mails end by time only. */
  pulse?: Pulse;
}

export interface MailSender {
  start(): void;
  /** Ends after the mails in progress. */
  stop(): Promise<void>;
  /** Handles the due mails once; returns how many it took. */
  runOnce(): Promise<number>;
}

/** Delays after the first, second, ... failed try. The last one repeats until the mail is a day old. */
const BACKOFF_S = [5, 30, 120, 600, 1800, 3600];
const GIVE_UP_AFTER_MS = DAY_MS;
const BATCH = 5;
/** Notifications can be lost, so mails are also polled. */
const LOOK_EVERY_MS = 2_000;

/**
 * Sends the mails of the outbox. If the mail server is down, mails are late but no request fails. After a
 * crash a mail may be sent twice (with the same Message-ID); none is lost.
 */
export function createMailSender(deps: MailSenderDeps): MailSender {
  const { db, bus, clock, log } = deps;
  let loop: Loop | null = null;

  async function runOnce(): Promise<number> {
    if (!isAlive(deps)) return 0;
    const worker = deps.pulse?.id() ?? null;
    const claimed = await claimMails(db, { now: clock.now(), limit: BATCH, worker });
    await Promise.all(claimed.map(settle));
    return claimed.length;
  }

  async function settle(mail: ClaimedMail): Promise<void> {
    // The process was frozen since the claim: another worker has the mail, or soon will.
    if (!isAlive(deps)) return;
    try {
      if (mail.kind === RESET_REQUEST) {
        await prepareReset(deps, mail);
        loop?.wake();
      } else await send(deps, mail);
    } catch (err) {
      if (!isAlive(deps)) return;
      await postpone(deps, mail, err).catch((failure) =>
        log.warn({ err: failure, mail_id: mail.id }, 'recording the failure of a mail failed'),
      );
    }
  }

  return {
    start() {
      loop = startLoop({
        everyMs: LOOK_EVERY_MS,
        run: async () => (await runOnce()) > 0,
        onError: (err) => log.warn({ err }, 'looking for mails failed'),
      });
      bus.on('mail', loop.wake);
    },
    async stop() {
      await loop?.stop();
      await deps.mailer.close();
    },
    runOnce,
  };
}

function isAlive({ pulse }: MailSenderDeps): boolean {
  return pulse?.isAlive() ?? true;
}

async function send({ cipher, mailer, db, log }: MailSenderDeps, mail: ClaimedMail): Promise<void> {
  const { to, subject, text, html } = cipher.open<SealedMail>(mail.sealed);
  await mailer.send({ id: mailId(mail), kind: mail.kind, to, subject, text, html });
  await dropMail(db, mail.id);
  log.info({ mail_id: mail.id, kind: mail.kind, trace_id: mail.trace_id }, 'mail sent');
}

/** One transaction removes the request and queues the mail; the next round sends it. */
async function prepareReset(deps: MailSenderDeps, request: ClaimedMail): Promise<void> {
  const { db, clock, cipher } = deps;
  const queue = createMailQueue({ cipher, clock });
  const { resetFor } = cipher.open<SealedResetRequest>(request.sealed);
  await db
    .transaction(async (sql) => {
      const prepared = await preparePasswordReset(deps, sql, { email: resetFor, now: clock.now() });
      await dropMail(sql, request.id);
      if (!prepared) return;
      const refused = await queue.queue(sql, {
        ...prepared.mail,
        to: prepared.to,
        kind: 'password_reset',
        companyId: prepared.companyId,
        traceId: request.trace_id,
      });
      // The link would never arrive, so the whole transaction is rolled back.
      if (refused) throw new MailboxFull();
    })
    .catch((err) => {
      if (!(err instanceof MailboxFull)) throw err;
      return dropMail(db, request.id);
    });
}

async function postpone({ db, clock, log }: MailSenderDeps, mail: ClaimedMail, err: unknown): Promise<void> {
  const now = clock.now();
  const error = describe(err);
  const entry = {
    mail_id: mail.id,
    kind: mail.kind,
    attempts: mail.attempts,
    error,
    trace_id: mail.trace_id,
  };
  if (err instanceof MailRefused || now.getTime() - mail.created_at.getTime() >= GIVE_UP_AFTER_MS) {
    await failMail(db, { id: mail.id, at: now, error });
    log.error(entry, 'gave up sending a mail');
    return;
  }
  const delayS = BACKOFF_S[Math.min(mail.attempts, BACKOFF_S.length) - 1]!;
  await retryMail(db, { id: mail.id, at: new Date(now.getTime() + delayS * 1000), error });
  log.warn({ ...entry, retry_in_s: delayS }, 'sending a mail failed, will be retried');
}

/** The mailbox has reached its limit of reset links. */
class MailboxFull extends Error {}

/** Unique beyond this database: two installations may write to one mailbox. */
function mailId(mail: ClaimedMail): string {
  return `${mail.created_at.toISOString().replace(/\D/g, '')}-${String(mail.id).padStart(6, '0')}`;
}

/** The server's text may quote the address, so only the kind of error is logged. */
function describe(err: unknown): string {
  const { code, responseCode, command } = err as { code?: string; responseCode?: number; command?: string };
  return (
    [code, responseCode, command].filter((part) => part !== undefined).join(' ') ||
    (err instanceof MailRefused ? err.message : (err as Error)?.name) ||
    'failed'
  );
}
