import { EVENT_TYPES, type EventType, matchesPattern } from '@posthorn/contract/events.ts';
import { eventFixtures } from './fixtures.ts';

/** When each event is emitted (EVT-3 to EVT-9, STA-12). The first pattern that matches its name applies. */
const EMITTED: [pattern: string, text: string][] = [
  [
    'message.sent',
    'the network accepted the message; or the account sent one on its phone or another device, then with content and without idempotency_key',
  ],
  ['message.delivered', 'it reached the recipient\u2019s device'],
  ['message.read', 'the recipient opened it; only with read receipts on'],
  ['message.played', 'the recipient played its media; only with read receipts on'],
  ['message.received', 'a message came in'],
  ['message.edited', 'a message was edited'],
  ['message.deleted', 'a message was deleted'],
  ['message.starred', 'a star was set or taken off, here or on the phone'],
  ['*.delivery_failed', 'a message of this type failed for good'],
  ['status.received', 'somebody posted a status'],
  ['status.viewed', 'somebody viewed a status of yours'],
  ['status.reaction', 'somebody reacted to a status of yours, or took it back'],
  ['status.reply', 'somebody answered a status of yours; message.received still fires'],
  ['status.reply_sent', 'this account answered a status'],
  ['label.associated', 'a label was put on a chat or a message, here or on the phone'],
  ['label.dissociated', 'a label was taken off a chat or a message'],
  ['label.*', 'a label was made, changed or deleted, here or on the phone'],
  ['history.synced', 'all chats, contacts and messages of before the pairing are there'],
  ['group.updated', 'name, description or settings of a group changed; carries what changed'],
  ['group.participants_changed', 'people were added to a group, removed, promoted or demoted'],
  [
    'presence.updated',
    'somebody whose presence is subscribed to came, went or types; the newest counts, some may be left out',
  ],
  [
    'call.received',
    'somebody called; `rejected` says whether the call was refused, as `reject_calls` asks for',
  ],
  ['message_template.status_changed', 'Meta approved, rejected, paused or disabled a template'],
  ['message_template.quality_changed', 'Meta rates a template differently, from what people make of it'],
  ['message_template.category_changed', 'Meta put a template into another category, which has another price'],
  ['instance.*', 'the connection of an instance changed'],
  ['webhook.test', 'sent by `POST /v1/webhooks/{id}/test`, to that webhook only'],
  ['*.received', 'a message of this family came in; together with message.received, under an id of its own'],
  ['*.deleted', 'a message of this family was deleted; together with message.deleted'],
];

/** The text of docs/events.md; a test compares the file with it. */
export function renderEventsDoc(): string {
  const groups = Map.groupBy(EVENT_TYPES, (type) => JSON.stringify([emittedWhen(type), eventFixtures[type]]));
  const sections = [...groups.values()].map((types) => {
    const names = types.map((type) => `\`${type}\``).join(', ');
    const example = JSON.stringify(eventFixtures[types[0]!], null, 2);
    return `### ${names}\n\n${capital(emittedWhen(types[0]!))}.\n\n\`\`\`json\n${example}\n\`\`\`\n`;
  });
  return `${HEAD}\n${sections.join('\n')}`;
}

function emittedWhen(type: EventType): string {
  return EMITTED.find(([pattern]) => matchesPattern(pattern, type))![1];
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

const HEAD = `# Events

Every event reaches you as the same JSON, whichever way it takes: as the body of a webhook, the data of an
SSE frame (\`GET /v1/events/stream\`), a WebSocket frame (\`GET /v1/events/ws\`, with its \`cursor\`) or an item
of \`GET /v1/events\`.

\`\`\`json
{
  "event_id": "0198c0de-0000-7000-8000-0000000000aa",
  "type": "message.sent",
  "created_at": "2026-01-31T12:00:00.000Z",
  "company_id": 7,
  "instance_id": "0198c0de-0000-7000-8000-0000000000bb",
  "data": {}
}
\`\`\`

\`message_ids[0]\` equals the \`message_id\` of the 202 answer. Subscriptions and filters take names and patterns:
\`*\`, \`message.*\`, \`*.received\`.

## Webhooks

Deliveries follow [Standard Webhooks](https://www.standardwebhooks.com): verify \`webhook-signature\` with the
secret and any of its libraries, and drop repeats by \`webhook-id\`, which is the \`event_id\`. Deliveries may come in
another order than their events happened: let the state of a message move on only, and compare others by \`created_at\`. Answer 2xx within
15 seconds. Anything else is tried again after 5 s, 1 m, 5 m, 15 m, 1 h, 6 h and 6 h (\u00b120 %, \`Retry-After\`
is honoured), and sooner once an endpoint that was away answers again. 4xx other than 408, 409, 425 and 429 is a refusal: after 3 attempts it is final. 410 disables the webhook.
Redirects are not followed. For 24 hours after a rotation each delivery carries a signature by either secret.

## Streams

Each SSE frame has the cursor as its \`id\`, the type as its \`event\` and the event as its \`data\`. A client that
comes back with \`Last-Event-ID\` (or \`?after=\`) misses nothing for 14 days. Two frames are not events: \`reset\`
says that the cursor was too old, or not of this log (a backup was restored), and gives one to go on with, \`end\` that the server closes the stream
(\`slow_reader\`, \`credentials_changed\`, \`credentials_expired\`, \`shutdown\`) and gives the cursor to come back with. Over WebSocket these are
\`{"reset": {...}}\` and the close reason, and \`{"heartbeat": {"cursor"}}\` comes every 15 seconds.

## The events and their \`data\`
`;
