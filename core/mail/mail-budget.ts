import { beforeFirst } from '../platform/before-first.ts';
import type { Sql } from '../platform/database/db.ts';
import { HOUR_MS, MINUTE_MS } from '../platform/durations.ts';
import type { Cipher } from '../platform/encryption.ts';
import type { Clock } from '../platform/process/clock.ts';

/** The budget of one mailbox for one kind: a burst, and then one in each interval. */
interface Budget {
  burst: number;
  intervalMs: number;
}

const DEFAULT: Budget = { burst: 5, intervalMs: HOUR_MS };
const BUDGETS: Readonly<Record<string, Budget>> = {
  // As many as links can be open at a time, for as long as they are.
  password_reset: { burst: 5, intervalMs: 30 * MINUTE_MS },
  // Asked for by the user alone, with a cooldown of its own.
  verification_code: { burst: 10, intervalMs: 30 * MINUTE_MS },
  // These write to people who never heard of us.
  invite: { burst: 5, intervalMs: 6 * HOUR_MS },
  email_change_code: { burst: 5, intervalMs: 6 * HOUR_MS },
  registration: { burst: 5, intervalMs: 6 * HOUR_MS },
  // Any user of any company causes it.
  feedback: { burst: 20, intervalMs: 15 * MINUTE_MS },
};

/** Kinds that share a budget: what registering sends. A resent code has its own. */
const SHARED: Readonly<Record<string, string>> = {
  quick_registration: 'registration',
  registration_code: 'registration',
};

/**
 * Counts a mail against the budget of its mailbox for that kind, across accounts, so that nobody can be flooded
 * with mails through us. Kinds are counted apart, so that what strangers cause uses up none of the reset links and
 * notices. Null when there is room, else the seconds until there is.
 *
 * Runs in the caller's transaction, which locks the mailbox: concurrent mails cannot exceed the budget.
 */
export async function takeMailSlot(
  deps: { cipher: Pick<Cipher, 'digest'>; clock: Clock },
  sql: Sql,
  mail: { to: string; kind: string },
): Promise<{ retryAfterS: number } | null> {
  const kind = SHARED[mail.kind] ?? mail.kind;
  const { burst, intervalMs } = BUDGETS[kind] ?? DEFAULT;
  const mailbox = deps.cipher.digest('mailbox', mailboxOf(mail.to));
  const now = deps.clock.now();
  const nowMs = now.getTime();
  const roomUntil = new Date(nowMs + intervalMs * (burst - 1));
  const wait = async () => {
    const { rows } = await sql.query<{ full_at: Date }>(
      'SELECT full_at FROM mail_budgets WHERE mailbox = $1 AND kind = $2 AND full_at > $3',
      [mailbox, kind, roomUntil],
    );
    const tooFullMs = rows[0] && rows[0].full_at.getTime() - roomUntil.getTime();
    return tooFullMs === undefined ? null : { retryAfterS: Math.max(1, Math.ceil(tooFullMs / 1000)) };
  };
  // First without a lock: a refused mail makes nobody wait.
  const refused = await wait();
  if (refused) return refused;
  const taken = await sql.query(
    `INSERT INTO mail_budgets AS b (mailbox, kind, full_at) VALUES ($1, $2, $4)
     ON CONFLICT (mailbox, kind) DO UPDATE
     SET full_at = greatest(b.full_at, $3) + make_interval(secs => $6)
     WHERE b.full_at <= $5`,
    [mailbox, kind, now, new Date(nowMs + intervalMs), roomUntil, intervalMs / 1000],
  );
  return taken.rowCount === 1 ? null : ((await wait()) ?? { retryAfterS: 1 });
}

/** Providers that ignore the dots in the name of a mailbox. */
const DOTLESS = new Set(['gmail.com', 'googlemail.com']);

/** One mailbox under the spellings that it has: letter case, `+tag`, and dots where they do not count. */
export function mailboxOf(email: string): string {
  const address = email.trim().toLowerCase();
  const at = address.lastIndexOf('@');
  const domain = address.slice(at + 1);
  const local = beforeFirst(address.slice(0, Math.max(0, at)), '+');
  return `${DOTLESS.has(domain) ? local.replaceAll('.', '') : local}@${domain}`;
}
