import { apiError } from '@posthorn/contract/api-error.ts';
import type { ProfileDto } from '@posthorn/contract/billing/profile.ts';
import type { BillingDeps } from '../deps.ts';
import { ProfileSchema } from '../entities.ts';
import { profileView } from '../views.ts';

/** Throws 404 PROFILE_NOT_FOUND. */
export async function readProfile(
  deps: Pick<BillingDeps, 'orm'>,
  input: { companyId: number },
): Promise<ProfileDto> {
  const profile = await deps.orm.forCompany(input.companyId).findOne(ProfileSchema, {});
  if (!profile) throw apiError('PROFILE_NOT_FOUND');
  return profileView(profile);
}
