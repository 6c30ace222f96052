import type { Edit, TestRun } from './edits.ts';

/** "Add a driver call" with its own example, the about text of a person. */
export const driverCallEdits: readonly Edit[] = [
  {
    file: 'core/network/actions.ts',
    before: '  /** Only what is given changes; `picture` is a JPEG',
    add: `  /** The about text of a person. Refused: \`chat_not_found\`. */
  about: { args: { jid: Jid }; answer: { about: string } };
`,
  },
  { file: 'core/network/abilities.ts', before: '  profile: true,\n', add: '  about: true,\n' },
  { file: 'network/whatsapp-cloud/lacks.ts', before: "  ...['poll', 'event',", add: "  'about',\n" },
  {
    file: 'network/sandbox/sessions/profile-calls.ts',
    before: "import { phoneRecord } from '../state/records.ts';\n",
    add: "import { findPhone } from '../state/phones.ts';\n",
  },
  {
    file: 'network/sandbox/sessions/profile-calls.ts',
    replace: "import { type Call, callerOf } from './call.ts';\n",
    by: "import { type Call, CallRefused, callerOf } from './call.ts';\n",
  },
  {
    file: 'network/sandbox/sessions/profile-calls.ts',
    before: '  profile_update(world, session, args) {\n',
    add: `  about(world, session, args) {
    callerOf(session);
    const phone = findPhone(world, z.object({ jid: z.string() }).parse(args).jid);
    if (!phone) throw new CallRefused('chat_not_found');
    return { about: phone.about };
  },

`,
  },
  {
    file: 'network/whatsapp/actions/people.ts',
    before: "  | 'profile'\n",
    add: "  | 'about'\n",
  },
  {
    file: 'network/whatsapp/actions/people.ts',
    before: '  profile: readProfile,\n',
    add: `  async about(session, { jid }) {
    const [status] = (await ask(session, (socket) => socket.fetchStatus(jid), OF_CHAT)) ?? [];
    const found = status as { status?: { status?: string | null } | null } | undefined;
    return { about: found?.status?.status ?? '' };
  },

`,
  },
  {
    file: 'core/profile/read-about.ts',
    create: `import { apiError } from '@posthorn/contract/api-error.ts';
import { parseChat } from '@posthorn/contract/jid.ts';
import { type About, aboutView } from '@posthorn/contract/messaging/profile.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import type { ProfileCaller } from './view-profile.ts';

const REFUSALS = { chat_not_found: () => apiError('NOT_FOUND') };

/** The about text of a person. 400 INVALID_PHONE or INVALID_RECIPIENT; else as askNetwork throws. */
export async function readAbout(
  deps: RpcDeps,
  input: ProfileCaller & { personJid: string },
): Promise<About> {
  const { personJid, ...caller } = input;
  await requireCapable(deps, caller, 'about');
  const person = parseChat(personJid);
  if ('error' in person) throw apiError(person.error);
  return askNetwork(deps, { ...caller, op: 'about', args: { jid: person.jid } }, aboutView, REFUSALS);
}
`,
  },
  {
    file: 'contract/messaging/profile.ts',
    before: 'export const updateProfileBody = ',
    add: `const about = z.string().meta({ description: 'Empty without any', examples: ['Gone fishing'] });
export const aboutView = z.object({ about }).meta({ id: 'About' });
export type About = z.infer<typeof aboutView>;

`,
  },
  {
    file: 'contract/messaging/profile.ts',
    before: '  update: route(\n',
    add: `  about: route(
    {
      ...ALL,
      errors: [...NETWORK_ERRORS, 'NOT_FOUND', 'INVALID_PHONE', 'INVALID_RECIPIENT'],
      summary: 'Read what somebody says about themselves',
    },
    { method: 'GET', path: \`\${PROFILE}/:personJid\`, responses: { 200: aboutView } },
  ),
`,
  },
  {
    file: 'server/messaging/profile-routes.ts',
    before: "import { readProfile } from '@posthorn/core/profile/read-profile.ts';\n",
    add: "import { readAbout } from '@posthorn/core/profile/read-about.ts';\n",
  },
  {
    file: 'server/messaging/profile-routes.ts',
    before: '    update: async ({ principal',
    add: `    about: async ({ principal, params, signal }) => ({
      status: 200,
      body: await readAbout(deps, { principal, ...params, signal }),
    }),
`,
  },
  {
    file: 'test/contract/routes.test.ts',
    before: "  ['PATCH /v1/instances/:instanceId/profile', ",
    add: "  ['GET /v1/instances/:instanceId/profile/:personJid', 'any', 'all', [200]],\n",
  },
  {
    file: 'test/contract/promised-routes.ts',
    replace: "'GET /profile', 'PATCH /profile'",
    by: "'GET /profile', 'GET /profile/{}', 'PATCH /profile'",
  },
  {
    file: 'test/messages/abilities.slow.test.ts',
    before: "  'profile.update': 'profile_update',\n",
    add: "  'profile.about': 'about',\n",
  },
  {
    file: 'test/server/fixtures.ts',
    before: "  'presence.subscribe personJid',\n",
    add: "  'profile.about personJid',\n",
  },
  {
    file: 'cli/sections/instances.ts',
    before: "  calls('profile update',",
    add: "  calls('profile about', 'profile.about'),\n",
  },
  {
    file: 'test/profile/about.test.ts',
    create: `import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Sending, startSending } from '../support/sending.ts';

let pipeline: Sending;
before(async () => {
  pipeline = await startSending();
});
after(() => pipeline.close());

test('the API reads the about text of a person from the network', async () => {
  const instance = await pipeline.connect();
  const phone = pipeline.newPhone();
  await pipeline.sandbox.post('/phones', { phone, about: 'Gone fishing' });
  const answer = await pipeline.call(instance, 'GET', \`/profile/\${phone}\`);
  assert.deepEqual([answer.status, answer.body], [200, { about: 'Gone fishing' }]);
});
`,
  },
];

/** Tests that then have to pass: the network answers, and the tables of abilities and commands know the call. */
export const driverCallTests: readonly TestRun[] = [
  { files: ['test/profile/about.test.ts'], passes: 'the about text of a person' },
  {
    files: ['test/messages/abilities.slow.test.ts'],
    named: 'are each used by a route',
    passes: 'are each used by a route',
  },
  { files: ['test/cli/endpoints.slow.test.ts'], named: 'has a command', passes: 'has a command' },
];
