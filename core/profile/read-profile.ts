import type { ProfileView } from '@posthorn/contract/messaging/profile.ts';
import { requireInstance } from '../access/instance-scope.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import { type ProfileCaller, type ProfileDeps, profileAnswer, viewProfile } from './view-profile.ts';

/** The account's own profile, as the network has it. Throws as askNetwork does. */
export async function readProfile(deps: ProfileDeps, caller: ProfileCaller): Promise<ProfileView> {
  const scope = await requireInstance(deps.db, caller.principal, caller.instanceId);
  const answer = await askNetwork(deps, { ...caller, op: 'profile', args: {} }, profileAnswer);
  return viewProfile(deps, scope, answer);
}
