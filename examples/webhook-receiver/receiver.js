// Receives webhooks, verifies their signatures, and handles each event once.
//
//   npm install
//   WEBHOOK_SECRET=whsec_... node receiver.js
//
// The secret is in the answer to creating the webhook: msgctl webhooks create http://127.0.0.1:9000/hooks
import { verifyWebhook, WebhookVerificationError } from '@posthorn/sdk';
import express from 'express';

const { WEBHOOK_SECRET, PORT = '9000', HOST = '127.0.0.1' } = process.env;
if (!WEBHOOK_SECRET) {
  console.error('WEBHOOK_SECRET is missing');
  process.exit(2);
}
// While a secret is being replaced, give the old and the new one, separated by a comma.
const secrets = WEBHOOK_SECRET.split(',');

// A delivery may come twice: if our answer was lost, the service tries again. A real program keeps the ids in its
// database, in the same transaction as the changes that the event causes.
const handled = new Set();

const app = express();

// The signature covers the received bytes, so this route must not parse JSON first.
app.post('/hooks', express.raw({ type: '*/*', limit: '1mb' }), async (req, res) => {
  let event;
  try {
    event = await verifyWebhook(req.body, req.headers, secrets);
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) throw error;
    console.error(`refused a delivery: ${error.code}`);
    res.sendStatus(400);
    return;
  }
  if (!handled.has(event.event_id)) {
    handle(event);
    handled.add(event.event_id);
  }
  // Answer within 15 seconds: longer work belongs in a queue of your own.
  res.sendStatus(204);
});

function handle(event) {
  if (event.type === 'message.received') {
    console.log(`received from ${event.data.phone}: ${JSON.stringify(event.data.content)}`);
  } else console.log(`${event.type} ${event.data.message_ids?.[0] ?? event.instance_id ?? ''}`);
}

const server = app.listen(Number(PORT), HOST, (error) => {
  if (error) throw error;
  console.log(`listening on http://${HOST}:${server.address().port}/hooks`);
});
