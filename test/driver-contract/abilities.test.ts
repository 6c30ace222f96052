import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Operation } from '@posthorn/contract/message-types.ts';
import {
  ABILITIES,
  type ACTIONS,
  abilitiesOf,
  type Composers,
  lacksOf,
} from '@posthorn/core/network/abilities.ts';
import type { NetworkActions } from '@posthorn/core/network/actions.ts';
import { createSandboxDriver } from '@posthorn/network/sandbox/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { createCloudDriver } from '@posthorn/network/whatsapp-cloud/driver.ts';

declare const everySend: Record<Operation, string>;
declare const exceptPoll: Omit<typeof everySend, 'poll'>;
declare const everyAnswer: Record<keyof NetworkActions, string>;
declare const exceptStar: Omit<typeof everyAnswer, 'star'>;
declare const anySend: Record<string, string>;

/** Checked by `npm run types` and never called: each line marked as an error has to be one. */
export function refusedByTheCompiler(): unknown {
  const pairsByCode = true;
  return [
    abilitiesOf({ sends: everySend, answers: everyAnswer, lacks: [], pairsByCode }),
    abilitiesOf({ sends: exceptPoll, answers: exceptStar, lacks: ['poll', 'star'], pairsByCode }),
    // @ts-expect-error: the driver forgot a send operation.
    abilitiesOf({ sends: exceptPoll, answers: everyAnswer, lacks: [], pairsByCode }),
    // @ts-expect-error: the driver declares lacking another one than it forgot.
    abilitiesOf({ sends: exceptPoll, answers: everyAnswer, lacks: ['template'], pairsByCode }),
    // @ts-expect-error: a table of any string proves nothing.
    abilitiesOf({ sends: anySend, answers: everyAnswer, lacks: [], pairsByCode }),
    // @ts-expect-error: the driver forgot a question.
    abilitiesOf({ sends: everySend, answers: exceptStar, lacks: [], pairsByCode }),
    // @ts-expect-error: the driver composes what it declares lacking.
    abilitiesOf({ sends: everySend, answers: everyAnswer, lacks: ['poll'], pairsByCode }),
    // @ts-expect-error: there is no such operation.
    abilitiesOf({ sends: everySend, answers: everyAnswer, lacks: ['telegram'], pairsByCode }),
    // @ts-expect-error: a table of composers without one of its operations.
    exceptPoll satisfies Composers<string, 'template'>,
    exceptPoll satisfies Composers<string, 'poll'>,
  ];
}

describe('the abilities of a driver', () => {
  const log = { debug() {}, warn() {}, error() {} };

  it('are all except those of Meta on the sandbox', () => {
    const { can } = createSandboxDriver({ url: 'ws://127.0.0.1:1/ws' });
    assert.deepEqual(
      ABILITIES.filter((ability) => !can.has(ability)),
      [
        ...['approved_template', 'list', 'link_button'],
        ...['template_list', 'template_create', 'template_delete'],
      ],
    );
  });

  it('are all but buttons and templates on WhatsApp', () => {
    const { can } = createWhatsAppDriver({ url: 'wss://127.0.0.1:1', log });
    assert.deepEqual(
      ABILITIES.filter((ability) => !can.has(ability)),
      [
        ...['template', 'approved_template', 'list', 'link_button'],
        ...['template_list', 'template_create', 'template_delete'],
      ],
    );
  });

  it('are those of Meta on the Cloud API, which reaches people without numbers and waits for people to write first', () => {
    const graph = { url: 'http://127.0.0.1:1', version: 'v26.0' };
    const driver = createCloudDriver({ graph, callbackUrl: () => '', log });
    const lacks = lacksOf(driver);
    assert.deepEqual(
      ABILITIES.filter((ability) => !lacks.includes(ability)),
      [
        ...['text', 'image', 'video', 'audio', 'document', 'sticker', 'location', 'contact', 'reaction'],
        ...['template', 'approved_template', 'list'],
        ...['link_button', 'link_preview', 'chat_read', 'contact_block', 'presence_set'],
        ...['template_list', 'template_create', 'template_delete'],
      ],
    );
    assert.deepEqual([lacks.includes('unprompted'), lacks.includes('user_ids')], [true, false]);
    const sandbox = lacksOf(createSandboxDriver({ url: 'ws://127.0.0.1:1/ws' }));
    assert.deepEqual(sandbox, [
      ...['approved_template', 'list', 'link_button'],
      ...['template_list', 'template_create', 'template_delete', 'user_ids'],
    ]);
  });

  it('are those that it has, without those that it declares lacking', () => {
    const { text } = { text: 'composed' };
    const lacks = ABILITIES.filter((ability) => ability !== 'text' && ability !== 'pairing_code');
    const can = abilitiesOf({
      sends: { text },
      answers: {},
      lacks: lacks as (Exclude<Operation, 'text'> | keyof typeof ACTIONS)[],
      pairsByCode: false,
    });
    assert.deepEqual([...can], ['text']);
  });
});
