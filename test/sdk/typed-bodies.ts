/** Programs of users that must compile, or must not, against the published types. */

/** The examples that editors show, each as the function of a program that has the names that it uses. */
export function programOfExamples(types: string): { program: string; count: number } {
  const examples = [...types.matchAll(/@example\n((?:\s*\* (?!@).*\n)+?)\s*\*\//g)].map(([, block]) =>
    (block as string).replace(/^\s*\* ?/gm, ''),
  );
  const own = examples.filter(
    (example) => /\bclient\./.test(example) && !/createClient|createSession/.test(example),
  );
  const bodies = own.map((example, at) => `export async function example${at}() {\n${example}}\n`);
  const head = `
import { type Client, iterate, type SendAccepted, toArray } from '@posthorn/sdk';
declare const client: Client;
declare const instanceId: string;
declare const messageId: string;
declare const sent: SendAccepted;
`;
  return { program: head + bodies.join('\n'), count: own.length };
}

export const NAMED_TYPES = `
import {
  type Chat, type Contact, createBillingClient, createClient, type CreateWebhookBody, type EventPattern, type Group, type Label,
  type MediaUploaded, type SendImageBody, type SendPollBody, type SignedHeaders, signWebhook, type StatusReplyBody, toArray,
  type UploadMediaBody, verifyWebhook, type WebhookEvent,
} from '@posthorn/sdk';
const client = createClient();
const billing = createBillingClient({ headers: { 'X-Gateway': 'g' } });
const images: SendImageBody[] = [
  { to: '+55', media_url: 'https://a.example/x.png' },
  { to: '+55', media_id: 'x', caption: 'y' },
  { to: '+55', media_base64: 'AAAA', view_once: true },
  { to: '+55', file: new Uint8Array(1) },
];
const uploads: UploadMediaBody[] = [{ media_url: 'https://a.example/x' }, { file: './x.pdf', file_name: 'x.pdf' }];
const replies: StatusReplyBody[] = [
  { poster_phone: '+55', text: 'x' },
  { poster_phone: '+55', type: 'text', text: 'x' },
  { poster_phone: '+55', type: 'image', media_id: 'x', caption: 'y' },
];
const poll: SendPollBody = { to: '+55', question: 'When?', options: ['a', 'b'] };
const patterns = ['message.*', '*.received'] as const;
const hook: CreateWebhookBody = { url: 'https://a.example', events: patterns };
export async function use(instanceId: string) {
  for (const body of images) await client.messages.sendImage({ instanceId, body });
  for (const body of uploads) (await client.media.upload({ instanceId, body })) satisfies MediaUploaded;
  for (const body of replies) await client.status.reply({ instanceId, statusId: 's', body });
  await client.messages.sendImage({ instanceId, body: new FormData() });
  await client.messages.sendPoll({ instanceId, body: poll });
  await client.webhooks.create({ body: hook });
  const chats: Chat[] = await toArray(client.chats.list, { instanceId }, { max: 5, timeoutMs: 1000 });
  const contact: Contact = await client.contacts.get({ instanceId, contactId: 'c' });
  const group: Group = await client.groups.get({ instanceId, groupJid: 'g' });
  const label: Label | undefined = (await client.labels.list({ instanceId })).labels[0];
  const headers: SignedHeaders = await signWebhook('{}', ['whsec_x'], { id: 'x' });
  take(await verifyWebhook('{}', headers, 'whsec_x'));
  const pattern: EventPattern = 'instance.*';
  return [chats, contact, group, label, billing, pattern];
}
function take(event: WebhookEvent): string {
  switch (event.type) {
    case 'message.received':
      return event.data.content ? 'content' : event.event_id;
    case 'instance.connected':
      return event.data.state;
    default:
      return event.type;
  }
}
take satisfies (event: WebhookEvent) => string;
`;

/** Each line from the fourth on is wrong by itself. */
export const WRONG_TYPES = `import { createClient, type SendImageBody, signWebhook, toArray, type WebhookEvent } from '@posthorn/sdk';
const client = createClient({ baseUrl: 'x' });
declare const event: WebhookEvent; declare const url: string | undefined;
const none: SendImageBody = { to: 'y' };
const two: SendImageBody = { to: 'y', media_url: 'u', media_id: 'i' };
const fileToo: SendImageBody = { to: 'y', file: './x', media_base64: 'AAAA' };
const maybe: SendImageBody = { to: 'y', media_url: url };
client.messages.sendImage({ instanceId: 'x', body: { to: 'y', media_url: 'u', file: './x' } });
client.messages.sendSticker({ instanceId: 'x', body: { to: 'y' } });
client.media.upload({ instanceId: 'x', body: { file_name: 'x' } });
client.status.reply({ instanceId: 'x', statusId: 's', body: { poster_phone: 'p' } });
client.status.reply({ instanceId: 'x', statusId: 's', body: { poster_phone: 'p', text: 't', media_id: 'i' } });
client.status.reply({ instanceId: 'x', statusId: 's', body: { poster_phone: 'p', type: 'image' } });
client.webhooks.create({ body: { url: 'u', events: ['mesage.received'] } });
client.webhooks.update({ webhookId: 1, body: { events: ['message.snt'] } });
if (event.type === 'message.sent') event.data.state;
toArray(client.chats.list);
toArray(client.chats.list, { instanceId: 'x' }, { max: 'all' });
createClient({ baseUrl: 'x', headers: { 'X-A': 1 } });
signWebhook({ type: 'x' }, 'whsec_x');
`;
