import type { Command } from '../command.ts';
import { mcp } from '../commands/agents/mcp.ts';
import { api } from '../commands/api.ts';
import { completion } from '../commands/completion.ts';
import { health } from '../commands/health.ts';
import { calls } from '../endpoints/calls.ts';

export const others: readonly Command[] = [
  health,
  completion,
  api,
  mcp,
  calls('admin companies', 'admin.listCompanies'),
  calls('admin suspend', 'admin.suspendCompany', { destroys: 'This suspends the company' }),
  calls('admin reactivate', 'admin.reactivateCompany'),
  calls('admin instances', 'admin.listInstances'),
  calls('admin ip-reputation', 'admin.ipReputation'),
  calls('admin feedback', 'feedback.list'),
  calls('admin feedback-state', 'feedback.update'),
  calls('admin billing-metrics', 'billing.admin.metrics'),
  calls('admin provider-events', 'billing.admin.listEvents'),
  calls('admin reprocess', 'billing.admin.reprocessEvent'),
  calls('feedback', 'feedback.give'),
  calls('metrics', 'health.metrics'),
  calls('openapi document', 'openapi.document'),
  calls('openapi page', 'openapi.page'),
  calls('openapi script', 'openapi.script'),
];
