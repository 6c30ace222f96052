import { parseRecipient, phoneOf } from '@posthorn/contract/jid.ts';
import { z } from 'zod/v4';

/** Parses a phone number as people write it, or its JID, to its digits. */
export const phoneNumber = z.string().transform((text, context) => {
  const parsed = parseRecipient(text);
  const phone = 'jid' in parsed ? phoneOf(parsed.jid) : '';
  if (phone) return phone;
  const message = 'must be a phone number of 7 to 15 digits or its JID';
  // Without `continue: false` a following transform would get the failure as its input.
  context.addIssue({ code: 'custom', message, continue: false });
  return z.NEVER;
});
