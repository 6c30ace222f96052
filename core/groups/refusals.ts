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

/** The reasons that the network gave, by the JID of whom it was not done for. */
export function refusalsOf(answer: unknown): Map<string, string> {
  return new Map(refusals.parse(answer).map(({ jid, reason }) => [jid, reason]));
}
