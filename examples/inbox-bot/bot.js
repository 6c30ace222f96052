// Answers the messages that come in. You may stop and start it at any time: it continues where it stopped, and answers
// nothing twice.
//
//   npm install
//   POSTHORN_API_KEY=svc_... POSTHORN_INSTANCE=<id> node bot.js
import { readFile, rename, writeFile } from 'node:fs/promises';
import { createClient, PosthornError } from '@posthorn/sdk';

const { POSTHORN_URL = 'http://127.0.0.1:8080', POSTHORN_API_KEY, POSTHORN_INSTANCE } = process.env;
const CURSOR_FILE = process.env.CURSOR_FILE ?? 'cursor.txt';
if (!POSTHORN_API_KEY || !POSTHORN_INSTANCE) {
  console.error('usage: POSTHORN_API_KEY=... POSTHORN_INSTANCE=... node bot.js');
  process.exit(2);
}

const client = createClient({ baseUrl: POSTHORN_URL, apiKey: POSTHORN_API_KEY });
const instanceId = POSTHORN_INSTANCE;

// Ctrl-C ends the loop between two events.
const leaving = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => leaving.abort());

const stream = client.events.stream({
  instanceId,
  types: ['message.received'],
  lastEventId: await readCursor(),
  signal: leaving.signal,
  onOpen: () => console.log('listening'),
  onReset: ({ reason }) => console.error(`messages of a longer absence were missed: ${reason}`),
});
for await (const event of stream) {
  await answer(event);
  // Kept after the answer: if the bot dies in between, the event comes again, and the key prevents a second answer.
  await keepCursor(event.cursor);
}

async function answer({ event_id, data }) {
  const text = replyTo(data);
  if (text === null) return;
  try {
    await client.messages.sendText({
      instanceId,
      body: { to: data.chat, text },
      // The key allows one answer for each event, however often the event is handled.
      idempotencyKey: `inbox-bot-${event_id}`,
    });
    console.log(`answered ${data.phone}`);
  } catch (error) {
    // A refused answer would be refused again (for example, if somebody sent the same text twice), so skip it. If the
    // service cannot be reached, takes no more for now or no longer takes the key, or if the instance is not connected,
    // stop: the cursor is still before this event.
    if (!(error instanceof PosthornError) || error.status === 0 || error.status >= 500) throw error;
    if ([401, 403, 429].includes(error.status) || error.code.startsWith('INSTANCE_')) throw error;
    console.error(`did not answer ${data.phone}: ${error.code}`);
  }
}

/** The bot's answer; null for none. This is the part to replace. */
function replyTo({ chat, is_from_me, content }) {
  // A bot that answers groups or itself may end up talking to another bot.
  if (is_from_me || chat.endsWith('@g.us') || !content?.text) return null;
  const words = content.text.trim().toLowerCase();
  if (words === 'hours') return 'We are open from 9:00 to 18:00, Monday to Friday.';
  return `You wrote "${content.text.slice(0, 200)}". Write "hours" to learn when we are open.`;
}

/** Where the last run stopped. The first run begins behind the newest event, and keeps that place before it listens. */
async function readCursor() {
  try {
    return (await readFile(CURSOR_FILE, 'utf8')).trim();
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
  const { data } = await client.events.list({ query: { limit: 1 } });
  if (data.length > 0) await keepCursor(data[0].cursor);
  return data[0]?.cursor;
}

async function keepCursor(cursor) {
  // Written to a second file and renamed, so that a crash leaves the old cursor or the new one.
  await writeFile(`${CURSOR_FILE}.new`, cursor);
  await rename(`${CURSOR_FILE}.new`, CURSOR_FILE);
}
