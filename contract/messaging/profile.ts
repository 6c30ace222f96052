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
        'The download of media of this instance, kept for 7 days; empty without a picture, or when it could not be had',
    }),
  })
  .meta({ id: 'Profile' });
export type ProfileView = z.infer<typeof profileView>;

export const updateProfileBody = z
  .object({
    name: nameField.optional(),
    about: z.string().max(ABOUT_MAX_CHARS).optional(),
    picture_media_id: uuid
      .nullable()
      .optional()
      .meta({ description: 'Stored media: a JPEG or PNG of 2 MB at most; null removes the picture' }),
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
        'Only what is given. NOT_FOUND for unknown media. A new name, which agents may not give, is the push_name of the instance.',
    },
    { method: 'PATCH', path: PROFILE, body: updateProfileBody, responses: { 200: profileView } },
  ),
} satisfies AppRouter;
