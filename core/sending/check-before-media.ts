import { apiError } from '@posthorn/contract/api-error.ts';
import { IDEMPOTENCY_KEY_LIFETIME_S } from '@posthorn/contract/limits.ts';
import { type CompanyHold, holdRefusal, holdSql } from '../access/company-hold.ts';
import { mayReach } from '../access/instance-scope.ts';
import { abilityRefusal, lacksSql } from '../instances/driver-abilities.ts';
import { instanceRefusal } from '../instances/instance-refusal.ts';
import { settingsOf } from '../instances/settings.ts';
import type { MediaScope } from '../media/media-port.ts';
import type { Sql } from '../platform/database/db.ts';
import { hashKey } from '../platform/hashes.ts';
import type { Clock } from '../platform/process/clock.ts';
import type { SendRequest } from './send-request.ts';

/**
 * Refuses before media is fetched or stored what the acceptor would refuse anyway: an instance that is not the caller's
 * or not connected, an operation that its network does not have, and passive mode. `isReplay`: the idempotency key was
 * used before, so the acceptor answers from it and no media is needed. Throws ApiError.
 */
export async function checkBeforeMedia(
  deps: { db: Sql; clock: Clock },
  input: SendRequest,
): Promise<{ scope: MediaScope; isReplay: boolean }> {
  const { principal, instanceId, operation } = input;
  const found = await deps.db.query<Row>({
    name: 'send-check-before-media',
    text: `SELECT i.company_id, i.state, i.settings, ${lacksSql('i')} AS lacks, ${holdSql('c')} AS hold,
             EXISTS (SELECT 1 FROM idempotency_keys WHERE id = $2 AND created_at > $3) AS repeated
           FROM instances i JOIN companies c ON c.id = i.company_id WHERE i.id = $1`,
    values: [
      instanceId,
      hashKey(instanceId, input.keyScope ?? operation, input.idempotencyKey),
      new Date(deps.clock.now().getTime() - IDEMPOTENCY_KEY_LIFETIME_S * 1000),
    ],
  });
  const row = found.rows[0];
  if (!row || !mayReach(principal, row.company_id)) {
    throw apiError('INSTANCE_NOT_FOUND');
  }
  const scope = { companyId: row.company_id, instanceId };
  if (row.repeated) return { scope, isReplay: true };
  const unable = abilityRefusal(row.lacks, operation);
  if (unable) throw unable;
  const refusal = input.keyScope === undefined ? (instanceRefusal(row.state) ?? holdRefusal(row.hold)) : null;
  if (refusal) throw refusal;
  if (!input.force && settingsOf(row.settings).passive_mode_enabled) throw apiError('PASSIVE_MODE_ENABLED');
  return { scope, isReplay: false };
}

interface Row {
  company_id: number;
  state: string;
  settings: unknown;
  lacks: string[] | null;
  hold: CompanyHold | null;
  repeated: boolean;
}
