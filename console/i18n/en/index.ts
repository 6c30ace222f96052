import { common } from './common.ts';
import { instances } from './instances.ts';
import { messages } from './messages.ts';
import { session } from './session.ts';
import { webhooks } from './webhooks.ts';

export const en = { common, session, instances, messages, webhooks };
