import type { profile } from '@posthorn/contract/messaging/profile.ts';
import { readProfile } from '@posthorn/core/profile/read-profile.ts';
import { updateProfile } from '@posthorn/core/profile/update-profile.ts';
import type { ProfileDeps } from '@posthorn/core/profile/view-profile.ts';
import type { Handlers } from '../http/handler.ts';

/** The account's own profile (CHT-7). */
export function profileRoutes(deps: ProfileDeps): Handlers<typeof profile> {
  return {
    get: async ({ principal, params, signal }) => ({
      status: 200,
      body: await readProfile(deps, { principal, ...params, signal }),
    }),
    update: async ({ principal, params, body, signal }) => ({
      status: 200,
      body: await updateProfile(deps, { principal, ...params, body, signal }),
    }),
  };
}
