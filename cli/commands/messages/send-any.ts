import type { CallOptions, ContractMethods, SendAccepted } from '@posthorn/sdk/index.ts';
import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { type Command, defineCommand, many, required, text, toggle } from '../../command.ts';
import { fileOf } from '../../endpoints/body-of.ts';
import { checkFields, endpointNamed } from '../../endpoints/call-endpoint.ts';
import { upload } from '../../upload.ts';
import { showAccepted, waitFlags } from './wait.ts';

type Send = (input: object, options: CallOptions) => Promise<SendAccepted>;

/** Each send besides text: its word, its method, and the fields that its help names. */
const SENDS: readonly {
  word: string;
  method: keyof ContractMethods['messages'];
  takes: string;
  media?: true;
}[] = [
  { word: 'image', method: 'sendImage', takes: 'caption=Hi view_once=true', media: true },
  { word: 'video', method: 'sendVideo', takes: 'caption=Hi', media: true },
  { word: 'audio', method: 'sendAudio', takes: 'ptt=false', media: true },
  { word: 'document', method: 'sendDocument', takes: 'caption=Signed file_name=contract.pdf', media: true },
  { word: 'sticker', method: 'sendSticker', takes: 'quoted_id=<id>', media: true },
  { word: 'ptv', method: 'sendPtv', takes: 'quoted_id=<id>', media: true },
  { word: 'gif', method: 'sendGif', takes: 'caption=Hi', media: true },
  { word: 'location', method: 'sendLocation', takes: 'latitude:=-23.5 longitude:=-46.6 name=Here' },
  { word: 'contact', method: 'sendContact', takes: 'contact_name=Ana contact_phone=+5511999990002' },
  { word: 'reaction', method: 'sendReaction', takes: 'message_id=<id> emoji=👍' },
  { word: 'poll', method: 'sendPoll', takes: `question=When options:='["now","later"]'` },
  {
    word: 'list',
    method: 'sendList',
    takes: 'body_text=When? button_text=Choose sections:=\'[{"rows":[{"id":"a","title":"Monday"}]}]\'',
  },
  {
    word: 'link-button',
    method: 'sendLinkButton',
    takes: 'body_text="On its way" button_text=Follow url=https://...',
  },
  { word: 'approved-template', method: 'sendApprovedTemplate', takes: 'name=order_shipped language=en_US' },
  { word: 'template', method: 'sendTemplate', takes: `body_text=Ok buttons:='[{"text":"Yes","id":"y"}]'` },
  {
    word: 'link-preview',
    method: 'sendLinkPreview',
    takes: 'text="see https://a.example" url=https://a.example',
  },
  { word: 'event', method: 'sendEvent', takes: 'name=Launch start_at=2030-01-01T10:00:00Z' },
  { word: 'forward', method: 'forward', takes: 'forward_chat_id=<chat> message_id=<id>' },
];

/** One command for each send; the fields of its body have the same names as in the API. */
export const sendCommands: readonly Command[] = SENDS.map(({ word, method, takes, media }) =>
  defineCommand({
    name: `send ${word}`,
    endpoints: [`messages.${method}`],
    summary: `Send ${word === 'forward' ? 'an existing message on' : `a message of the type ${word}`}`,
    details: `${ASSIGNMENTS_HELP} E.g. ${takes}${media ? ', with --file, media_id=<id> or media_url=<url>' : ''}.`,
    args: { more: many('fields', `fields of the body, e.g. ${takes}`) },
    flags: {
      to: required(text('recipient', 'phone number, individual JID or group JID')),
      ...(media ? { file: text('path', 'the file to send; - reads it from a pipe') } : {}),
      idempotencyKey: text('key', 'repeating a command with the same key sends nothing twice'),
      force: toggle('bypass passive mode and the anti-spam guard'),
      ...waitFlags,
    },
    async run(context, input) {
      const { to, more, idempotencyKey, force, wait, timeout } = input;
      const { file } = input as { file?: string };
      const given = parseAssignments(more);
      checkFields(endpointNamed(`messages.${method}`), Object.keys(given));
      const send = context.client().messages[method] as Send;
      const instanceId = await context.instanceId();
      const opened = file === undefined ? undefined : await fileOf(context, file);
      const body = { to, ...given, ...(opened ? { file: opened } : {}) };
      const accepted = await upload(context, opened, (options) =>
        send({ instanceId, body, idempotencyKey, force }, options),
      );
      await showAccepted(context, accepted, { instanceId, wait, timeout });
    },
  }),
);
