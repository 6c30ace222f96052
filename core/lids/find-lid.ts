import { apiError } from '@posthorn/contract/api-error.ts';
import { isLidJid } from '@posthorn/contract/jid.ts';
import type { Lid } from '@posthorn/contract/messaging/lids.ts';
import { z } from 'zod/v4';
import { requireInstance } from '../access/instance-scope.ts';
import type { Principal } from '../access/principal.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import type { RpcDeps } from '../rpc/request-owner.ts';
import { requireCapable } from '../rpc/require-capable.ts';
import { readPhones } from './read-phones.ts';

const answer = z.object({
  phone: z
    .string()
    .regex(/^\d{7,15}$/)
    .nullable(),
});

/**
 * The phone behind an anonymous id, as it is known; with `refresh` the network is asked, and the owner of the instance has
 * recorded the pair before it answers. 404
 * INSTANCE_NOT_FOUND, or NOT_FOUND where nobody tells it; with `refresh` as askNetwork throws.
 */
export async function findLid(
  deps: RpcDeps,
  input: {
    principal: Principal;
    instanceId: string;
    lid: string;
    query: { refresh: boolean };
    signal: AbortSignal;
  },
): Promise<Lid> {
  const { lid, query, ...caller } = input;
  const scope = query.refresh
    ? await requireCapable(deps, caller, 'lid_phone')
    : await requireInstance(deps.db, caller.principal, caller.instanceId);
  const person = { instanceId: scope.instanceId, jid: lid };
  const known = isLidJid(lid) ? (await readPhones(deps.db, [person]))(person) : '';
  if (known !== '' && !query.refresh) return { lid, phone: known };
  if (!query.refresh || !isLidJid(lid)) throw notKnown();
  const { phone } = await askNetwork(deps, { ...caller, op: 'lid_phone', args: { lid } }, answer);
  if (phone === null) throw notKnown();
  return { lid, phone };
}

function notKnown() {
  return apiError('NOT_FOUND', { message: 'the phone number behind this id is unknown' });
}
