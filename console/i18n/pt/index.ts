import type { Translations } from '../translations.ts';
import { common } from './common.ts';
import { instances } from './instances.ts';
import { messages } from './messages.ts';
import { session } from './session.ts';
import { webhooks } from './webhooks.ts';

export const pt: Translations = { common, session, instances, messages, webhooks };
