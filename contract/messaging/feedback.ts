import type { AppRouter } from '@ts-rest/core';
import { z } from 'zod/v4';
import { integerId, integerQuery, integerRange, timestamp, uuid } from '../fields.ts';
import { FEEDBACK_MAX_CHARS, INTEGER_ID_MAX, LIST_LIMIT, URL_MAX_CHARS } from '../limits.ts';
import { route } from '../route-meta.ts';

export const feedbackKind = z.enum(['bug', 'idea', 'question', 'praise']);
export const feedbackState = z.enum(['open', 'done']);

export const feedbackBody = z
  .object({
    kind: feedbackKind,
    message: z.string().trim().min(1).max(FEEDBACK_MAX_CHARS),
    page: z
      .string()
      .trim()
      .max(URL_MAX_CHARS)
      .optional()
      .meta({ description: 'The page on which the user wrote it' }),
    trace_id: uuid.optional().meta({ description: 'The trace_id of the answer that the feedback is about' }),
  })
  .meta({ id: 'FeedbackRequest' });
export type FeedbackBody = z.infer<typeof feedbackBody>;

export const feedbackEntry = z
  .object({
    id: integerId,
    company_id: integerId,
    company_name: z.string(),
    user_id: integerId.nullable().meta({ description: 'The id of the user; null once the user was removed' }),
    user_email: z.string().nullable(),
    kind: feedbackKind,
    message: z.string(),
    page: z.string().nullable(),
    trace_id: uuid.nullable(),
    state: feedbackState,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Feedback' });
export type FeedbackEntry = z.infer<typeof feedbackEntry>;

const CODES = { missing: 'FEEDBACK_INVALID', invalid: 'FEEDBACK_INVALID' } as const;

/** Feedback of users to the platform. */
export const feedback = {
  give: route(
    {
      auth: 'any',
      access: 'all',
      errors: ['FEEDBACK_INVALID', 'FEEDBACK_FAILED'],
      bodyCodes: CODES,
      summary: 'Send feedback',
      description: 'The service stores the feedback and mails it to the administrators of the platform.',
    },
    {
      method: 'POST',
      path: '/v1/feedback',
      body: feedbackBody,
      responses: { 201: z.object({ id: integerId }).meta({ id: 'FeedbackGiven' }) },
    },
  ),
  list: route(
    {
      auth: 'jwt',
      access: 'superadmin',
      summary: 'List feedback',
      description: 'Newest first. Pass next_before as before for the next page.',
    },
    {
      method: 'GET',
      path: '/v1/admin/feedback',
      query: z.object({
        state: feedbackState.optional(),
        kind: feedbackKind.optional(),
        before: integerRange({ max: INTEGER_ID_MAX })
          .optional()
          .meta({ description: 'The next_before of the previous page' }),
        limit: integerQuery(LIST_LIMIT),
      }),
      responses: {
        200: z
          .object({ data: z.array(feedbackEntry), next_before: integerId.nullable() })
          .meta({ id: 'FeedbackList' }),
      },
    },
  ),
  update: route(
    {
      auth: 'jwt',
      access: 'superadmin',
      notFound: 'NOT_FOUND',
      errors: ['FEEDBACK_INVALID'],
      bodyCodes: CODES,
      summary: 'Mark feedback as done or reopen it',
    },
    {
      method: 'PATCH',
      path: '/v1/admin/feedback/:id',
      body: z.object({ state: feedbackState }).meta({ id: 'UpdateFeedbackRequest' }),
      responses: { 200: feedbackEntry },
    },
  ),
} satisfies AppRouter;
