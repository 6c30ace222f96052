import type { AcceptRows } from './accept-sql.ts';
import type { SendCommand } from './send-command.ts';

/** The audit entry of a forced send: the rules that it bypassed (SND-12). */
export function forcedAudit(
  { principal, instanceId, traceId, operation }: SendCommand,
  chatJid: string,
  companyId: number,
  action: string,
): AcceptRows['audits'][number] {
  return {
    companyId,
    userId: principal.userId,
    tokenId: principal.tokenId,
    instanceId,
    traceId,
    action,
    detail: { operation, remote_jid: chatJid },
  };
}
