import { apiError } from '@posthorn/contract/api-error.ts';
import { type StatusPrivacy, statusPrivacy } from '@posthorn/contract/messaging/status.ts';
import type { Principal } from '../access/principal.ts';
import { type RpcDeps, RpcRefused, requestOwner } from '../rpc/request-owner.ts';

/** Reads the audience of this account's statuses from the network (STA-8). Throws as requestOwner does. */
export async function readStatusPrivacy(
  deps: RpcDeps,
  input: { principal: Principal; instanceId: string; signal: AbortSignal },
): Promise<StatusPrivacy> {
  try {
    const answer = await requestOwner(deps, { ...input, op: 'status_privacy', args: {} });
    return { status_privacy: statusPrivacy.shape.status_privacy.parse(answer) };
  } catch (cause) {
    if (cause instanceof RpcRefused) throw apiError('SEND_FAILED', { cause });
    throw cause;
  }
}
