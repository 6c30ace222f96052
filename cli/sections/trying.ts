import type { Command } from '../command.ts';
import {
  cloudClear,
  cloudFault,
  cloudNumber,
  cloudReview,
  cloudSent,
  cloudToken,
  cloudWebhooks,
  cloudWrite,
} from '../commands/sandbox/cloud.ts';
import { addFault, clearFaults, listFaults } from '../commands/sandbox/faults.ts';
import { ledger } from '../commands/sandbox/ledger.ts';
import { listMessages, sendFromPhone } from '../commands/sandbox/messages.ts';
import { sandboxPair } from '../commands/sandbox/pair.ts';
import { actOnPhone, getPhone, setPhone } from '../commands/sandbox/phones.ts';
import { trigger } from '../commands/trigger/trigger.ts';
import { calls } from '../endpoints/calls.ts';

export const trying: readonly Command[] = [
  getPhone,
  setPhone,
  actOnPhone,
  sandboxPair,
  listMessages,
  sendFromPhone,
  ledger,
  listFaults,
  addFault,
  clearFaults,
  cloudNumber,
  cloudWrite,
  cloudWebhooks,
  cloudToken,
  cloudReview,
  cloudFault,
  cloudClear,
  cloudSent,
  trigger,
  calls('playground show', 'playground.show'),
  calls('playground send', 'playground.send'),
  calls('playground message', 'playground.message'),
];
