/** The credentials that a user gives an instance whose network pairs with no phone. */
import { z } from 'zod/v4';

const graphId = z.string().regex(/^\d{5,25}$/, 'must be the digits of an id of Meta');
const secret = z
  .string()
  .min(8)
  .max(2_000)
  .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII');

export const giveCredentialsBody = z
  .object({
    phone_number_id: graphId.meta({
      description: 'The id of the number at Meta, not the number itself',
      examples: ['106540352242922'],
    }),
    business_account_id: graphId.meta({
      description: 'The WhatsApp Business Account that the number belongs to',
      examples: ['102290129340398'],
    }),
    access_token: secret.meta({
      description: 'The token of a system user, which does not expire',
      examples: ['EAAJB0example'],
    }),
    app_secret: secret.meta({
      description: 'The secret of the app that issued the token; Meta signs webhooks with it',
      examples: ['0123456789abcdef0123456789abcdef'],
    }),
  })
  .meta({ id: 'GiveCredentialsRequest' });
