import { apiError } from '@posthorn/contract/api-error.ts';
import type { createTemplateBody, MessageTemplate } from '@posthorn/contract/messaging/templates.ts';
import type { z } from 'zod/v4';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import type { TemplateCaller } from './list-templates.ts';
import { createdAnswer } from './network-answers.ts';

/**
 * Gives a template to the network for review. 409 CONFLICT when there is one of this name in this language, 400
 * BAD_REQUEST with the network's words for one that it does not take, 429 RATE_LIMITED when it takes no more for a
 * while; else as askNetwork throws.
 */
export async function createTemplate(
  deps: RpcDeps,
  { body, ...caller }: TemplateCaller & { body: z.output<typeof createTemplateBody> },
): Promise<MessageTemplate> {
  const { name, language, components } = body;
  const request = { ...caller, op: 'template_create', args: body } as const;
  const answer = await askNetwork(deps, request, createdAnswer, {
    template_exists: () =>
      apiError('CONFLICT', { message: 'a template of this name already exists in this language' }),
    rate_limited: () => apiError('RATE_LIMITED'),
  });
  if ('refused' in answer)
    throw apiError('BAD_REQUEST', { message: `Meta did not accept the template: ${answer.refused}` });
  return { ...answer, name, language, components, rejected_reason: null, quality: null };
}
