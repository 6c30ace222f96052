import type { Edit, TestRun } from './edits.ts';

/**
 * "Add a network driver" with `postbox`: a network that carries texts and pictures and knows few questions. Its server is
 * one of the sandbox's, so that the recipe need not write a network too.
 */
export const networkDriverEdits: readonly Edit[] = [
  {
    file: 'network/postbox/driver.ts',
    create: `import type { Operation } from '@posthorn/contract/message-types.ts';
import { abilitiesOf, type Composers } from '@posthorn/core/network/abilities.ts';
import {
  type NetworkActions,
  type NetworkDriver,
  type NetworkSession,
  type OutboundMessage,
  SendRefused,
} from '@posthorn/core/network/driver.ts';
import { operationOf } from '@posthorn/core/network/messages.ts';
import { createSandboxDriver } from '../sandbox/driver.ts';

/** The abilities that this network lacks. */
const LACKS = [
  ...(['video', 'audio', 'document', 'sticker', 'ptv', 'gif', 'location', 'contact', 'event'] as const),
  ...(['template', 'poll', 'link_preview', 'forward', 'edit', 'status_text', 'status_image'] as const),
  ...(['status_video', 'status_audio', 'status_reply', 'checklist', 'pin', 'poll_vote', 'star'] as const),
  ...(['status_privacy', 'label_edit', 'label_chat', 'label_message', 'lid_phone', 'groups_list'] as const),
  ...(['group_info', 'group_create', 'group_update', 'group_participants', 'group_invite'] as const),
  ...(['group_revoke_invite', 'group_join', 'group_leave', 'presence_set', 'presence_subscribe'] as const),
  ...(['profile', 'profile_update', 'about', 'business_profile', 'business_catalog'] as const),
  ...(['approved_template', 'business_collections', 'reject_call', 'template_list'] as const),
  ...(['template_create', 'template_delete', 'list', 'link_button'] as const),
] as const;
type Lacks = (typeof LACKS)[number];

type Compose = (message: OutboundMessage) => OutboundMessage;

/** Each send operation, in the words of the network. */
const COMPOSERS: Composers<Compose, Lacks> = {
  text: (message) => message,
  image: (message) => message,
  reaction: (message) => message,
  delete: (message) => message,
};

/** The questions that the network answers. */
const ANSWERS: Record<Exclude<keyof NetworkActions, Lacks>, true> = {
  chat_read: true,
  chat_archive: true,
  chat_pin: true,
  chat_mute: true,
  contacts_check: true,
  contact_block: true,
};

/** The driver of the postbox network at \`url\`, which drops repeated network ids. */
export function createPostboxDriver(options: { url: string }): NetworkDriver {
  const line = createSandboxDriver({ ...options, window: 1 });
  return {
    name: 'postbox',
    can: abilitiesOf({ sends: COMPOSERS, answers: ANSWERS, lacks: LACKS, pairsByCode: false }),
    dedupes: true,
    window: 1,
    open: async (request, sink) => sessionOf(await line.open(request, sink)),
  };
}

function sessionOf(session: NetworkSession): NetworkSession {
  const composers: Partial<Record<Operation, Compose>> = COMPOSERS;
  return {
    ...session,
    async send(message) {
      const compose = composers[operationOf(message)];
      if (!compose) throw new SendRefused('unsupported_type');
      return session.send(compose(message));
    },
    async act(op, args) {
      if (!(op in ANSWERS)) throw new SendRefused('unsupported_call');
      return session.act(op, args);
    },
    async requestPairingCode() {
      throw new SendRefused('unsupported_call');
    },
  };
}
`,
  },
  {
    file: 'core/platform/config.ts',
    replace: "const DRIVER_NAMES = ['sandbox', 'whatsapp', 'whatsapp-cloud'] as const;\n",
    by: "const DRIVER_NAMES = ['sandbox', 'whatsapp', 'whatsapp-cloud', 'postbox'] as const;\n",
  },
  {
    file: 'core/platform/config.ts',
    before: '  /** Lets the proxies of instances stand at private addresses. */\n',
    add: "  POSTBOX_URL: z.url({ protocol: /^wss?$/ }).default('ws://127.0.0.1:8091/ws'),\n",
  },
  {
    file: 'core/platform/setting-docs.ts',
    replace: '([guide](guides/official-number.md)); the first one',
    by: '([guide](guides/official-number.md)), `postbox`; the first one',
  },
  {
    file: 'core/platform/setting-docs.ts',
    before: '    PACING_MIN_MS: {\n',
    add: "    POSTBOX_URL: { meaning: 'the address at which the driver reaches the postbox network' },\n",
  },
  {
    file: 'worker/network-driver.ts',
    replace: '  whatsapp: 1_000,\n',
    by: '  whatsapp: 1_000,\n  postbox: 500,\n',
  },
  {
    file: 'worker/network-driver.ts',
    replace: "  | 'NETWORK_DRIVERS'\n",
    by: "  | 'NETWORK_DRIVERS'\n  | 'POSTBOX_URL'\n",
  },
  {
    file: 'worker/network-driver.ts',
    before: "    case 'whatsapp': {\n",
    add: `    case 'postbox': {
      const { createPostboxDriver } = await import('@posthorn/network/postbox/driver.ts');
      return createPostboxDriver({ url: config.POSTBOX_URL });
    }
`,
  },
  {
    file: 'test/worker/pacing.test.ts',
    before: "  assert.equal(pacingMinMsOf({ PACING_MIN_MS: 700 }, 'sandbox'), 700);\n",
    add: "  assert.equal(pacingMinMsOf({ PACING_MIN_MS: undefined }, 'postbox'), 500);\n",
  },
  {
    file: 'test/driver-contract/postbox-network.ts',
    create: `import { createPostboxDriver } from '@posthorn/network/postbox/driver.ts';
import type { ContractNetwork } from './network.ts';
import { startSandboxContract } from './sandbox-network.ts';

/** The postbox network and its phones, as the contract needs them. */
export async function startPostboxContract(): Promise<ContractNetwork> {
  const network = await startSandboxContract();
  return { ...network, name: 'postbox', driver: createPostboxDriver({ url: network.url }) };
}
`,
  },
  {
    file: 'test/driver-contract/postbox.test.ts',
    create: `import { testDriver } from './contract.ts';
import { startPostboxContract } from './postbox-network.ts';

testDriver('postbox', startPostboxContract, {
  lacks: ['pairing_code', 'profile', 'profile_update', 'business_profile', 'reject_call'],
});
`,
  },
  {
    file: 'test/driver-contract/abilities.test.ts',
    before: "import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';\n",
    add: "import { createPostboxDriver } from '@posthorn/network/postbox/driver.ts';\n",
  },
  {
    file: 'test/driver-contract/abilities.test.ts',
    before: "  it('are those that it has, without those",
    add: `  it('are texts, pictures and six questions on the postbox network', () => {
    const { can } = createPostboxDriver({ url: 'ws://127.0.0.1:1/ws' });
    assert.equal(can.size, 4 + 6);
  });

`,
  },
];

/** Tests that then have to pass: the contract of the port, the tables of abilities and paces, and the settings. */
export const networkDriverTests: readonly TestRun[] = [
  {
    files: ['test/driver-contract/postbox.test.ts'],
    passes: 'hands messages over again that could not be recorded',
  },
  { files: ['test/driver-contract/abilities.test.ts'], passes: 'six questions on the postbox network' },
  { files: ['test/worker/pacing.test.ts'], named: 'the setting decides', passes: 'the setting decides' },
];
