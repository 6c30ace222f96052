import { apiError } from '@posthorn/contract/api-error.ts';
import { templateName as nameShape } from '@posthorn/contract/messaging/official-bodies.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import type { TemplateCaller } from './list-templates.ts';
import { deletedAnswer } from './network-answers.ts';

/**
 * Deletes a template in all its languages, or in one. 404 NOT_FOUND when there is none; 429 RATE_LIMITED; else as
 * askNetwork throws.
 */
export async function deleteTemplate(
  deps: RpcDeps,
  input: TemplateCaller & { templateName: string; query: { language?: string | undefined } },
): Promise<void> {
  const { templateName: name, query, ...caller } = input;
  const { language } = query;
  await requireCapable(deps, caller, 'template_delete');
  if (!nameShape.safeParse(name).success) throw notFound();
  const args = { name, ...(language === undefined ? {} : { language }) };
  await askNetwork(deps, { ...caller, op: 'template_delete', args }, deletedAnswer, {
    template_not_found: notFound,
    rate_limited: () => apiError('RATE_LIMITED'),
  });
}

function notFound() {
  return apiError('NOT_FOUND', { message: 'template not found' });
}
