import { z } from 'zod/v4';

/** The credentials that a user gave and the API sealed (core/cloud/give-credentials.ts). */
export const credentialsShape = z.object({
  phone_number_id: z.string(),
  business_account_id: z.string(),
  access_token: z.string(),
  verify_token: z.string(),
  /** Our own number, digits only. */
  phone: z.string(),
});
export type Credentials = z.infer<typeof credentialsShape>;
