import { defineCommand, list, required, text, toggle } from '../../command.ts';
import { textOrStdin } from '../../stdin.ts';
import { showAccepted, waitFlags } from './wait.ts';

export const sendText = defineCommand({
  name: 'send text',
  endpoints: ['messages.sendText'],
  summary: 'Send a text',
  details:
    'Prints the ids of the accepted message. msgctl message get <id> shows its progress, and --wait waits for it.',
  flags: {
    to: required(text('recipient', 'phone number, individual JID or group JID')),
    text: required(text('text', 'the text; - reads it from a pipe')),
    quotedId: text('id', 'the message to answer: its UUID or network id'),
    mention: list('jid', 'a person to mention; may be repeated'),
    idempotencyKey: text('key', 'repeating a command with the same key sends nothing twice'),
    force: toggle('bypass passive mode and the anti-spam guard'),
    ...waitFlags,
  },
  async run(context, { to, text, quotedId, mention, idempotencyKey, force, wait, timeout }) {
    const instanceId = await context.instanceId();
    const accepted = await context.client().messages.sendText({
      instanceId,
      body: {
        to,
        text: await textOrStdin(context, text),
        quoted_id: quotedId,
        ...(mention.length > 0 ? { mentions: mention } : {}),
      },
      idempotencyKey,
      force,
    });
    await showAccepted(context, accepted, { instanceId, wait, timeout });
  },
});
