import type { Edit, TestRun } from './edits.ts';

const BODY = "{ title: 'Trip', items: ['passport', 'tickets'] }";

/** "Add a send type" with its own example, `POST .../messages/checklist`. */
export const sendTypeEdits: readonly Edit[] = [
  {
    file: 'contract/message-types.ts',
    before: "  'poll',\n] as const;",
    add: "  'checklist',\n",
  },
  {
    file: 'contract/messaging/send-bodies.ts',
    before: 'export const sendForwardBody = ',
    add: `export const sendChecklistBody = z
  .object({ to: recipient, title: requiredField, items: boundedArray(requiredField, { min: 1, max: 20 }) })
  .meta({ id: 'SendChecklistRequest' });

`,
  },
  {
    file: 'contract/messaging/messages.ts',
    before: '  sendContactBody,\n  sendEventBody,',
    add: '  sendChecklistBody,\n',
  },
  {
    file: 'contract/messaging/messages.ts',
    before: '  forward: route(\n',
    add: `  sendChecklist: route(
    { ...SEND, operation: 'checklist', summary: 'Send a checklist', description: QUEUED },
    {
      method: 'POST',
      path: \`\${INSTANCE}/messages/checklist\`,
      body: sendChecklistBody,
      responses: ACCEPTED,
    },
  ),
`,
  },
  {
    file: 'core/content/checklist.ts',
    create: `import { sendChecklistBody } from '@posthorn/contract/messaging/send-bodies.ts';
import { jidOf, rule } from './rule.ts';

/** Content \`{title, items}\`. */
export const checklist = rule({
  body: sendChecklistBody,
  toMessage: ({ to, ...content }) => ({ type: 'checklist', chatJid: jidOf(to), content }),
});
`,
  },
  {
    file: 'core/content/rules.ts',
    before: "import { contact } from './contact.ts';\n",
    add: "import { checklist } from './checklist.ts';\n",
  },
  { file: 'core/content/rules.ts', before: '  link_preview: linkPreview,\n', add: '  checklist,\n' },
  {
    file: 'server/messaging/messages-routes.ts',
    before: "    forward: sendHandler(deps, 'forward'),\n",
    add: "    sendChecklist: sendHandler(deps, 'checklist'),\n",
  },
  {
    file: 'network/sandbox/families/structured.ts',
    before: 'export const structuredFamilies = {\n',
    add: `const checklist: ContentFamily = {
  ...same({ title: text, items: z.array(text).min(1) }),
  words: (content) => content.title as string,
};

`,
  },
  { file: 'network/sandbox/families/structured.ts', before: '  order,\n  product,\n', add: '  checklist,\n' },
  {
    file: 'network/sandbox/client/envelope.ts',
    before: "  location: 'location',\n",
    add: "  checklist: 'checklist',\n",
  },
  {
    file: 'network/whatsapp/wire/outbound.ts',
    before: '  // The network shows buttons of approved business senders only.\n',
    add: `  'checklist',\n`,
  },
  {
    file: 'network/whatsapp-cloud/lacks.ts',
    before: "  ...['poll', 'event',",
    add: "  'checklist',\n",
  },
  {
    file: 'test/contract/promised-routes.ts',
    before: "      'POST /messages/forward',\n",
    add: "      'POST /messages/checklist',\n",
  },
  {
    file: 'test/messages/sends.test.ts',
    before: '  event: {\n',
    add: `  checklist: {
    path: '/messages/checklist',
    body: ${BODY},
    shows: { type: 'checklist', text: 'Trip', content: ${BODY} },
    type: 'checklist',
  },
`,
  },
  {
    file: 'test/messages/idempotency.test.ts',
    before: '  event: () => ({\n',
    add: `  checklist: () => ({
    path: '/messages/checklist',
    body: { to: TO, title: 'a', items: ['x'] },
    changed: { title: 'b' },
  }),
`,
  },
  {
    file: 'test/driver-contract/abilities.test.ts',
    replace: "        ...['template', 'approved_template', 'list', 'link_button'],\n",
    by: "        ...['checklist', 'template', 'approved_template', 'list', 'link_button'],\n",
  },
  {
    file: 'contract/examples/messaging.ts',
    before: "  'messages.forward': ",
    add: `  'messages.sendChecklist': { to: PHONE, title: 'Trip', items: ['passport'] },\n`,
  },
  {
    file: 'cli/commands/messages/send-any.ts',
    before: "  { word: 'forward',",
    add: "  { word: 'checklist', method: 'sendChecklist', takes: `title=Trip items:='[\"passport\"]'` },\n",
  },
];

/** Tests that then have to pass: the message arrives on the phone, and its events come in order. */
export const sendTypeTests: readonly TestRun[] = [
  { files: ['test/messages/sends.test.ts'], named: 'checklist', passes: 'checklist: is accepted' },
];
