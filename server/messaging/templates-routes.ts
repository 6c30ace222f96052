import type { templates } from '@posthorn/contract/messaging/templates.ts';
import type { RpcDeps } from '@posthorn/core/rpc/request-owner.ts';
import { createTemplate } from '@posthorn/core/templates/create-template.ts';
import { deleteTemplate } from '@posthorn/core/templates/delete-template.ts';
import { listTemplates } from '@posthorn/core/templates/list-templates.ts';
import type { Handlers } from '../http/handler.ts';

/** Templates that the network reviews (docs/guides/official-number.md). */
export function templatesRoutes(deps: RpcDeps): Handlers<typeof templates> {
  return {
    list: async ({ principal, params, query, signal }) => ({
      status: 200,
      body: await listTemplates(deps, { principal, ...params, query, signal }),
    }),
    create: async ({ principal, params, body, signal }) => ({
      status: 201,
      body: await createTemplate(deps, { principal, ...params, body, signal }),
    }),
    remove: async ({ principal, params, query, signal }) => {
      await deleteTemplate(deps, { principal, ...params, query, signal });
      return { status: 204 };
    },
  };
}
