// Sends a text to each row of a CSV file with the columns "to" and "text", and writes a report beside it. If it is
// killed, run it again: it continues where it stopped and sends nothing twice.
//
//   npm install
//   POSTHORN_API_KEY=svc_... POSTHORN_INSTANCE=<id> node bulk.js contacts.csv report.csv orders-may
//
// The last argument names the campaign. Two campaigns may send to the same number; one never does so twice.
import { appendFile, readFile, truncate } from 'node:fs/promises';
import { createClient, PosthornError } from '@posthorn/sdk';
import { parseCsv, writeCsvRow } from './csv.js';

const { POSTHORN_URL = 'http://127.0.0.1:8080', POSTHORN_API_KEY, POSTHORN_INSTANCE } = process.env;
const [contactsFile, reportFile, campaign] = process.argv.slice(2);
if (!POSTHORN_API_KEY || !POSTHORN_INSTANCE || !campaign) {
  console.error(
    'usage: POSTHORN_API_KEY=... POSTHORN_INSTANCE=... node bulk.js <contacts.csv> <report.csv> <campaign>',
  );
  process.exit(2);
}

const client = createClient({ baseUrl: POSTHORN_URL, apiKey: POSTHORN_API_KEY });
const instanceId = POSTHORN_INSTANCE;
const COLUMNS = ['to', 'status', 'message_id', 'reason'];

// A file in another encoding is refused: its letters would be sent as replacement characters.
const utf8 = new TextDecoder('utf-8', { fatal: true });
const contacts = readContacts(utf8.decode(await readFile(contactsFile)));
const done = await readReport();
const counts = { accepted: 0, refused: 0, skipped: 0 };

for (const { to, text } of contacts) {
  // Refused rows are tried again, because the reason may be gone.
  if (done.has(to)) {
    counts.skipped += 1;
    continue;
  }
  const row = await send(to, text);
  counts[row.status] += 1;
  await appendFile(reportFile, writeCsvRow(COLUMNS.map((name) => row[name])));
}
console.log(`${counts.accepted} accepted, ${counts.refused} refused, ${counts.skipped} sent before`);
process.exitCode = counts.refused > 0 ? 1 : 0;

async function send(to, text) {
  try {
    const sent = await client.messages.sendText(
      {
        instanceId,
        body: { to, text },
        // The report lists the sent rows, except for one that was being sent when the program died. The service
        // recognizes that row by its key, for 72 hours. A key is ASCII; names and numbers need not be.
        idempotencyKey: encodeURIComponent(`${campaign}-${to}`),
      },
      // Long enough for the limit of requests, which is counted by the minute.
      { deadlineMs: 180_000, retries: 5 },
    );
    return { to, status: 'accepted', message_id: sent.message_id, reason: '' };
  } catch (error) {
    // A fault in one row must not end the run. A wrong key, an instance that is not connected and an unreachable
    // service must: every further row would be refused as well.
    if (!(error instanceof PosthornError) || error.status === 0 || error.status >= 500) throw error;
    if ([401, 403, 429].includes(error.status) || error.code.startsWith('INSTANCE_')) throw error;
    return { to, status: 'refused', message_id: '', reason: error.code };
  }
}

function readContacts(csv) {
  const [header = [], ...rows] = parseCsv(csv);
  const [toAt, textAt] = [header.indexOf('to'), header.indexOf('text')];
  if (toAt < 0 || textAt < 0) throw new Error(`${contactsFile} needs the columns "to" and "text"`);
  const byNumber = new Map();
  for (const row of rows) {
    const [to, text] = [row[toAt]?.trim(), row[textAt]];
    if (!to || !text) throw new Error(`a row of ${contactsFile} has no recipient or no text: ${row.join()}`);
    if (byNumber.has(to)) throw new Error(`${contactsFile} has two rows for ${to}`);
    byNumber.set(to, { to, text });
  }
  return [...byNumber.values()];
}

/** The numbers that an earlier run has sent to. Begins the report when there is none. */
async function readReport() {
  const text = await readFile(reportFile, 'utf8').catch((error) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  // A program that is killed while it writes leaves part of a line: the next run sends that row again, under its key.
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole !== text) await truncate(reportFile, Buffer.byteLength(whole));
  if (whole === '') await appendFile(reportFile, writeCsvRow(COLUMNS));
  const rows = parseCsv(whole).slice(1);
  return new Set(rows.filter(([, status]) => status === 'accepted').map(([to]) => to));
}
