import type { Client } from '@posthorn/sdk/index.ts';
import type { SandboxApi } from '../../sandbox-api.ts';

/** The parties that make an event happen. */
export interface Acting {
  client: Client;
  sandbox: SandboxApi;
  instanceId: string;
  /** The number of the instance. */
  own: string;
  /** The virtual phone on the other side. */
  other: string;
  /** The text to write in place of the default. */
  text: string | undefined;
}

/** Events in which somebody writes a text. */
export const WITH_TEXT: readonly string[] = [
  ...[
    'message.received',
    'text.received',
    'image.received',
    'message.edited',
    'message.deleted',
    'text.deleted',
  ],
  ...['reaction.received', 'status.received', 'message.sent', 'message.delivered', 'message.read'],
  'text.delivery_failed',
];

/** A picture of one pixel, and the shortest valid PDF. */
const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const PDF =
  'JVBERi0xLjQKMSAwIG9iajw8L1R5cGUvQ2F0YWxvZy9QYWdlcyAyIDAgUj4+ZW5kb2JqCjIgMCBvYmo8PC9UeXBlL1BhZ2VzL0NvdW50IDAvS2lkc1tdPj5lbmRvYmoKdHJhaWxlcjw8L1Jvb3QgMSAwIFI+Pg==';

const HELLO = 'Hello from the sandbox';

/** The action that causes each event. The service itself then writes the event, as it does for a person's action. */
export const TRIGGERS: Readonly<Record<string, (acting: Acting) => Promise<unknown>>> = {
  'message.received': (acting) => writeText(acting),
  'text.received': (acting) => writeText(acting),
  'image.received': (acting) =>
    write(acting, {
      type: 'image',
      media_base64: PNG,
      mime_type: 'image/png',
      caption: acting.text ?? 'A picture',
    }),
  'document.received': (acting) =>
    write(acting, {
      type: 'document',
      media_base64: PDF,
      mime_type: 'application/pdf',
      file_name: 'offer.pdf',
    }),
  'location.received': (acting) =>
    write(acting, { type: 'location', latitude: -23.56, longitude: -46.65, name: 'Avenida Paulista' }),
  'poll.received': (acting) => write(acting, { type: 'poll', question: 'When?', options: ['now', 'later'] }),
  'reaction.received': async (acting) =>
    write(acting, { type: 'reaction', message_id: await writeText(acting), emoji: '👍' }),
  'message.edited': async (acting) =>
    write(acting, {
      type: 'edit',
      message_id: await writeText(acting, HELLO),
      text: acting.text ?? 'Hello again',
    }),
  'message.deleted': async (acting) => write(acting, { type: 'delete', message_id: await writeText(acting) }),
  'text.deleted': async (acting) => write(acting, { type: 'delete', message_id: await writeText(acting) }),
  'status.received': async (acting) => {
    await act(acting, 'contacts', { add: [acting.own], mutual: true });
    return write(acting, { to: 'status', text: acting.text ?? 'A status' });
  },
  'call.received': (acting) => act(acting, 'calls', { to: acting.own }),
  'presence.updated': async (acting) => {
    const { client, instanceId, other, own } = acting;
    await client.presence.subscribe({ instanceId, personJid: other });
    return act(acting, 'presence', { state: 'composing', to: own });
  },
  'message.sent': (acting) => send(acting),
  'message.delivered': (acting) => send(acting),
  'message.read': (acting) => send(acting),
  'text.delivery_failed': async (acting) => {
    const body = { kind: 'refuse', phone: acting.other, times: 1 };
    await acting.sandbox.call({ method: 'POST', path: '/faults', body });
    return send(acting);
  },
  'instance.disconnected': ({ client, instanceId }) => client.instances.restart({ instanceId }),
  'instance.connected': ({ client, instanceId }) => client.instances.restart({ instanceId }),
};

/** The other phone writes to the instance. */
function write({ sandbox, own, other }: Acting, message: Record<string, unknown>) {
  const path = `/phones/${encodeURIComponent(other)}/messages`;
  return sandbox.call<{ id: string }>({ method: 'POST', path, body: { to: own, type: 'text', ...message } });
}

async function writeText(acting: Acting, text = acting.text ?? HELLO): Promise<string> {
  return (await write(acting, { text })).id;
}

function act({ sandbox, other }: Acting, action: string, body: Record<string, unknown>) {
  return sandbox.call({ method: 'POST', path: `/phones/${encodeURIComponent(other)}/${action}`, body });
}

/**
 * The instance writes to the other phone, which is online and reads. Forced, because the guard would refuse repeats.
 */
async function send({ client, sandbox, instanceId, other, text = 'Hello' }: Acting) {
  const body = { phone: other, online: true, auto_read: true, read_receipts: true };
  await sandbox.call({ method: 'POST', path: '/phones', body });
  // A short text: an instance that imitates typing takes seconds for a sentence.
  return client.messages.sendText({ instanceId, body: { to: other, text }, force: true });
}
