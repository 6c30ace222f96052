import { parseRecipient, phoneOf } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';

/** A phone number as a person writes it, or its JID; out come the digits. */
export const phoneNumber = z.string().transform((text, context) => {
  const parsed = parseRecipient(text);
  const phone = 'jid' in parsed ? phoneOf(parsed.jid) : '';
  if (phone) return phone;
  const message = 'must be a phone number of 7 to 15 digits or its JID';
  // Without `continue: false` a transform that follows would be handed the failure.
  context.addIssue({ code: 'custom', message, continue: false });
  return z.NEVER;
});
