import { z } from 'zod/v4';

const refusals = z
  .array(
    z.object({
      jid: z.string().max(128),
      reason: z
        .string()
        .regex(/^[a-z_]{1,64}$/)
        .catch('refused'),
    }),
  )
  .max(4096)
  .catch([]);

/** The network's reasons, by the JID of each person for whom it did not do the thing. */
export function refusalsOf(answer: unknown): Map<string, string> {
  return new Map(refusals.parse(answer).map(({ jid, reason }) => [jid, reason]));
}
