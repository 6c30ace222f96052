import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Client, PosthornError } from '@posthorn/sdk/index.ts';
import { defineCommand, required, text, toggle } from '../../command.ts';
import type { Context } from '../../context.ts';
import { CommandError, UsageError } from '../../fault.ts';
import { printable } from '../../format.ts';
import { readStdin } from '../../stdin.ts';
import { createStore } from '../../views/store.ts';
import { type Contact, parseContacts } from './contacts.ts';
import { openReport, type Report, type ReportRow } from './report.ts';

/** Long enough for the limit of requests, which is counted by the minute. */
const PATIENCE = { deadlineMs: 180_000, retries: 5 };
/** Errors that would repeat for every row: they end the run, and the next run continues. */
const ENDS_THE_RUN: ReadonlySet<string> = new Set([
  ...['INSTANCE_NOT_CONNECTED', 'INSTANCE_BANNED', 'INSTANCE_HARD_PAUSED', 'INSTANCE_NOT_FOUND'],
  'PLAN_LIMIT_REACHED',
]);

interface Counts {
  accepted: number;
  refused: number;
  skipped: number;
}

export const bulkSend = defineCommand({
  name: 'bulk send',
  summary: 'Send a text to each row of a CSV file with the columns to and text',
  details: `Sends one row after the other, and writes the outcome of each to a report beside the file. Run it again after a break: it
continues where it stopped and sends nothing twice. It skips rows that the report lists as accepted, and the service knows the
row that was interrupted by its key, made from file and recipient, for 72 hours. It tries refused rows again.`,
  args: { file: required(text('file', 'the CSV file; - reads it from a pipe')) },
  flags: {
    report: text('path', 'the report; default <file>.report.csv'),
    campaign: text('name', 'the name that keys are made from; default the path of the file'),
    force: toggle('bypass passive mode and the anti-spam guard'),
  },
  async run(context, { file, report: named, campaign, force }) {
    const isPiped = file === '-';
    if (isPiped && (named === undefined || campaign === undefined))
      throw new UsageError(
        'a list from a pipe needs --report and --campaign, which name it when it is sent again',
      );
    const contacts = parseContacts(isPiped ? await readStdin(context) : await contentOf(file), file);
    const client = context.client();
    const instanceId = await context.instanceId();
    const reportFile = named ?? `${file.replace(/\.csv$/i, '')}.report.csv`;
    const report = await openReport(reportFile);
    const send = (contact: Contact) =>
      sendOne(context, client, {
        instanceId,
        contact,
        key: keyOf(campaign ?? resolve(file), contact),
        force,
      });
    const counts = await sendAll(context, { contacts, report, send });
    const summary = `${counts.accepted} accepted, ${counts.refused} refused, ${counts.skipped} sent before: ${reportFile}`;
    if (counts.refused > 0)
      throw new CommandError(summary, { fields: { code: 'ROWS_REFUSED', ...counts, report: reportFile } });
    context.out.note(summary);
  },
});

/** The same row of the same file has the same key, which does not reveal the recipient. */
function keyOf(campaign: string, { to }: Contact): string {
  return `bulk-${createHash('sha256')
    .update(JSON.stringify([campaign, to]))
    .digest('hex')
    .slice(0, 40)}`;
}

async function sendAll(
  context: Context,
  run: { contacts: readonly Contact[]; report: Report; send: (contact: Contact) => Promise<ReportRow> },
): Promise<Counts> {
  const { out, terminal, signal } = context;
  const counts: Counts = { accepted: 0, refused: 0, skipped: 0 };
  const { contacts, report, send } = run;
  const store = createStore({ name: '', done: 0, total: contacts.length, counted: '' });
  const sendEach = async () => {
    for (const [at, contact] of contacts.entries()) {
      signal.throwIfAborted();
      if (report.hasAccepted(contact.to)) counts.skipped += 1;
      else {
        const row = await send(contact);
        await report.add(row);
        counts[row.status] += 1;
        if (!terminal) out.item(row, `${row.status}  ${printable(row.to)}  ${row.message_id || row.reason}`);
      }
      const name = counts.refused > 0 ? `${counts.refused} refused` : '';
      store.change({ name, done: at + 1, counted: `${at + 1} of ${contacts.length}` });
    }
  };
  if (!terminal) await sendEach();
  else {
    const { showProgress } = await import('../../views/progress.ts');
    await showProgress({ terminal, signal }, store, sendEach);
  }
  return counts;
}

async function sendOne(
  { signal }: Context,
  client: Client,
  row: { instanceId: string; contact: Contact; key: string; force: boolean },
): Promise<ReportRow> {
  const { instanceId, contact, key: idempotencyKey, force } = row;
  try {
    const sent = await client.messages.sendText(
      { instanceId, body: { ...contact }, idempotencyKey, force },
      { ...PATIENCE, signal },
    );
    return { to: contact.to, status: 'accepted', message_id: sent.message_id, reason: '' };
  } catch (error) {
    // A fault in one row must not end the run; a wrong key or an unreachable service must.
    const isOfThisRow =
      error instanceof PosthornError &&
      [400, 409, 413, 422].includes(error.status) &&
      !ENDS_THE_RUN.has(String(error.code));
    if (!isOfThisRow) throw error;
    return { to: contact.to, status: 'refused', message_id: '', reason: error.code };
  }
}

async function contentOf(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new UsageError(`${file}: cannot be read (${(cause as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}
