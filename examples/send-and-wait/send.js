// Sends a text and waits until it has reached the recipient's phone.
//
//   npm install
//   POSTHORN_API_KEY=svc_... POSTHORN_INSTANCE=<id> node send.js 5511999990000 "Hello"
import { createClient, MessageFailedError, PosthornError, TimeoutError } from '@posthorn/sdk';

const { POSTHORN_URL = 'http://127.0.0.1:8080', POSTHORN_API_KEY, POSTHORN_INSTANCE } = process.env;
const [to, text, key] = process.argv.slice(2);
if (!POSTHORN_API_KEY || !POSTHORN_INSTANCE || !to || !text) {
  console.error('usage: POSTHORN_API_KEY=... POSTHORN_INSTANCE=... node send.js <to> <text> [key]');
  process.exit(2);
}

const client = createClient({ baseUrl: POSTHORN_URL, apiKey: POSTHORN_API_KEY });
const instanceId = POSTHORN_INSTANCE;

try {
  // The key makes the send safe to repeat: running this again with the same key sends nothing a second time. An order
  // number is a good key. Without one the client makes its own, which protects its retries but not a second run.
  const sent = await client.messages.sendText({ instanceId, body: { to, text }, idempotencyKey: key });
  console.log(`accepted ${sent.message_id}`);

  const message = await client.messages.waitFor({ instanceId, messageId: sent.message_id }, 'delivered', {
    timeoutMs: 60_000,
  });
  console.log(`${message.status} ${message.message_id}`);
} catch (error) {
  process.exitCode = 1;
  if (error instanceof MessageFailedError) console.error(`not delivered: ${error.message}`);
  else if (error.idempotencyKey && (error.status === 0 || error.status >= 500)) {
    // Nobody knows whether the service accepted it. Trying again with the same key sends no second message.
    console.error(`${error.code}; try again with the key ${error.idempotencyKey}`);
  } else if (error instanceof TimeoutError) console.error(`still under way: ${error.message}`);
  else if (error instanceof PosthornError) {
    console.error(`refused: ${error.code}: ${error.message} (trace ${error.traceId})`);
  } else throw error;
}
