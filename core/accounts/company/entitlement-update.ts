import { z } from 'zod/v4';

const limit = z.int32();

const shape = z.object({
  /** The cause of the change, for people. */
  kind: z.string(),
  company_id: z.int32(),
  /** Grows with each change of a company; updates that arrive late are ignored. */
  version: z.int(),
  /** Null: the free limits (LIM-4). */
  limits: z
    .object({
      max_instances: limit,
      max_users: limit,
      max_webhooks: limit,
      requests_per_minute: limit,
      /** Absent in updates that were written before it existed. */
      storage_mb: limit.optional(),
      /** Null, or absent: as the settings say. */
      message_retention_days: limit.nullish(),
    })
    .nullable(),
  suspended: z.boolean(),
  /** As `installationOf` gives it. Absent in updates of the release before. */
  installation: z.string().optional(),
});

/**
 * An entitlement update from billing (its `EntitlementUpdate`, declared here again because neither of the two imports the
 * other).
 */
export type EntitlementUpdate = z.infer<typeof shape>;

/** The update that a message from the broker is; null: it is none. */
export function readEntitlementUpdate(body: unknown): EntitlementUpdate | null {
  return shape.safeParse(body).data ?? null;
}
