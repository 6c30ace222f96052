import { integer, required } from '../../command.ts';

export const namedWebhook = { id: required(integer('id', 'the number of the webhook')) };
