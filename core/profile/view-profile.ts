import type { ProfileView } from '@posthorn/contract/messaging/profile.ts';
import { z } from 'zod/v4';
import type { InstanceScope } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { mediaUrl } from '../media/media-url.ts';
import type { OpenedMedia } from '../media/open-media.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';

export interface ProfileDeps extends RpcDeps {
  storedMedia: OpenedMedia;
  /** Without a slash at its end. */
  publicUrl: string;
}

export interface ProfileCaller {
  principal: Principal;
  instanceId: string;
  signal: AbortSignal;
}

const NAME_MAX_CHARS = 256;
const ABOUT_MAX_CHARS = 1_024;
const URL_MAX_CHARS = 2_048;
const text = (maxChars: number) =>
  z
    .string()
    .transform((value) => value.slice(0, maxChars))
    .catch('');

/** The account's own profile, as the network answers it. */
export const profileAnswer = z.object({
  name: text(NAME_MAX_CHARS),
  about: text(ABOUT_MAX_CHARS),
  picture_url: z.string().max(URL_MAX_CHARS).nullable().catch(null),
});

/** The profile as the API shows it, its picture at an address of our own. */
export async function viewProfile(
  deps: ProfileDeps,
  scope: InstanceScope,
  { name, about, picture_url: picture }: z.output<typeof profileAnswer>,
): Promise<ProfileView> {
  if (picture === null) return { name, about, picture_url: '' };
  const mediaId = (await deps.storedMedia.networkImages.keep(scope, [picture])).get(picture);
  const picture_url = mediaId === undefined ? '' : mediaUrl(deps.publicUrl, scope.instanceId, mediaId);
  return { name, about, picture_url };
}
