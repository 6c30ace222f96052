import type { feedback } from '@posthorn/contract/messaging/feedback.ts';
import type { AccountDeps } from '@posthorn/core/accounts/deps.ts';
import { giveFeedback } from '@posthorn/core/feedback/give-feedback.ts';
import { changeFeedback, listFeedback } from '@posthorn/core/feedback/list-feedback.ts';
import type { Handlers } from '../http/handler.ts';

export type FeedbackRoutesDeps = Pick<AccountDeps, 'db' | 'clock' | 'mails' | 'settings'>;

/** Users' feedback to the platform (CHT-11). */
export function feedbackRoutes(deps: FeedbackRoutesDeps): Handlers<typeof feedback> {
  return {
    async give({ principal, body, traceId }) {
      return { status: 201, body: await giveFeedback(deps, { principal, body, traceId }) };
    },
    async list({ query }) {
      return { status: 200, body: await listFeedback(deps, query) };
    },
    async update({ params, body }) {
      return { status: 200, body: await changeFeedback(deps, { id: Number(params.id), ...body }) };
    },
  };
}
