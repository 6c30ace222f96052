import { buffer } from 'node:stream/consumers';
import { apiError } from '@posthorn/contract/api-error.ts';
import { PICTURE_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { ProfileView, UpdateProfileBody } from '@posthorn/contract/messaging/profile.ts';
import { findMedia, openMedia } from '../media/read-media.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { type ProfileCaller, type ProfileDeps, profileAnswer, viewProfile } from './view-profile.ts';

/** Picture types that every network takes; detected in the bytes when the media was stored. */
const PICTURE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png']);

/**
 * Changes the account's own profile; only what is given. 403 INSUFFICIENT_PERMISSIONS for a name that an agent gives,
 * 404 NOT_FOUND for media that is not there, 415 UNSUPPORTED_MEDIA_TYPE and 413 MEDIA_TOO_LARGE for media that cannot be
 * the picture of a profile; else as askNetwork throws.
 */
export async function updateProfile(
  deps: ProfileDeps,
  input: ProfileCaller & { body: UpdateProfileBody },
): Promise<ProfileView> {
  const { body, ...caller } = input;
  const scope = await requireCapable(deps, caller, 'profile_update');
  const { name, about, picture_media_id: mediaId } = body;
  if (name === undefined && about === undefined && mediaId === undefined)
    throw apiError('BAD_REQUEST', { message: 'give at least one of name, about, picture_media_id' });
  // Everybody who has the account as a contact reads it, and the networks let nobody take it back at once.
  if (name !== undefined && caller.principal.role === 'agent' && !caller.principal.isSuperadmin)
    throw apiError('INSUFFICIENT_PERMISSIONS', { message: 'name: only an owner or admin can change it' });
  const args = {
    ...(name !== undefined && { name }),
    ...(about !== undefined && { about }),
    ...(mediaId !== undefined && {
      picture: mediaId === null ? null : await readPicture(deps, caller, mediaId),
    }),
  };
  const answer = await askNetwork(deps, { ...caller, op: 'profile_update', args }, profileAnswer);
  if (name !== undefined)
    await deps.db.query('UPDATE instances SET push_name = $2, updated_at = $3 WHERE id = $1', [
      scope.instanceId,
      answer.name,
      deps.clock.now(),
    ]);
  return viewProfile(deps, scope, answer);
}

/** In base64. */
async function readPicture(deps: ProfileDeps, caller: ProfileCaller, mediaId: string): Promise<string> {
  const media = await findMedia(deps.storedMedia, { ...caller, mediaId });
  if (!PICTURE_TYPES.has(media.mimeType))
    throw apiError('UNSUPPORTED_MEDIA_TYPE', { message: 'picture_media_id: must be a JPEG or PNG' });
  if (media.sizeBytes > PICTURE_MAX_BYTES)
    throw apiError('MEDIA_TOO_LARGE', { message: 'picture_media_id: must have at most 2 MB' });
  return (await buffer(await openMedia(deps.storedMedia, media))).toString('base64');
}
