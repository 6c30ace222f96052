import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { nameField, uuid } from '../fields.ts';
import { ABOUT_MAX_CHARS } from '../limits.ts';
import { NETWORK_ERRORS, route } from '../route-meta.ts';

export const profileView = z
  .object({
    name: z.string(),
    about: z.string(),
    picture_url: z.string().meta({
      description:
        'The URL of the picture, stored by this service for 7 days; empty without a picture, or when it could not be fetched',
    }),
  })
  .meta({ id: 'Profile' });
export type ProfileView = z.infer<typeof profileView>;

export const updateProfileBody = z
  .object({
    name: nameField.optional(),
    about: z.string().max(ABOUT_MAX_CHARS).optional(),
    picture_media_id: uuid.nullable().optional().meta({
      description: 'The UUID of stored media, a JPEG or PNG of 2 MB at most; null removes the picture',
    }),
  })
  .meta({ id: 'UpdateProfileRequest' });
export type UpdateProfileBody = z.infer<typeof updateProfileBody>;

const PROFILE = '/v1/instances/:instanceId/profile' as const;
const ALL = { auth: 'any', access: 'all', notFound: 'INSTANCE_NOT_FOUND' } as const;

/** The profile that the account shows. */
export const profile = {
  get: route(
    { ...ALL, errors: NETWORK_ERRORS, summary: 'Read the profile of the account' },
    { method: 'GET', path: PROFILE, responses: { 200: profileView } },
  ),
  update: route(
    {
      ...ALL,
      errors: [
        ...NETWORK_ERRORS,
        'INSUFFICIENT_PERMISSIONS',
        'NOT_FOUND',
        'MEDIA_TOO_LARGE',
        'UNSUPPORTED_MEDIA_TYPE',
      ],
      summary: 'Change the profile of the account',
      description:
        'Changes only the given fields. NOT_FOUND for unknown media. The name becomes the push_name of the instance; agents may not change it.',
    },
    { method: 'PATCH', path: PROFILE, body: updateProfileBody, responses: { 200: profileView } },
  ),
} satisfies AppRouter;
