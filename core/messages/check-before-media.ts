import { apiError } from '@posthorn/contract/api-error.ts';
import { IDEMPOTENCY_KEY_LIFETIME_S } from '@posthorn/contract/limits.ts';
import { type CompanyHold, holdRefusal, holdSql } from '../access/company-hold.ts';
import { abilityRefusal, lacksSql } from '../instances/driver-abilities.ts';
import { instanceRefusal } from '../instances/instance-refusal.ts';
import { settingsOf } from '../instances/settings.ts';
import type { MediaRecord, MediaScope } from '../media/media-port.ts';
import type { Clock } from '../platform/clock.ts';
import type { Sql } from '../platform/db.ts';
import { hashKey } from '../platform/hashes.ts';
import type { SendInput } from './send-input.ts';

/**
 * What the accept would refuse anyway is refused before media is fetched or stored for it: an instance that
 * is not the caller's or not connected, what its network cannot do, and passive mode. A key that was used before needs no media at
 * all: `replay` stands in for it, and the accept answers from the key. Throws ApiError.
 */
export async function checkBeforeMedia(
  deps: { db: Sql; clock: Clock },
  input: SendInput,
): Promise<{ scope: MediaScope; replay: MediaRecord | null }> {
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
  if (!row || (row.company_id !== principal.companyId && !principal.isSuperadmin)) {
    throw apiError('INSTANCE_NOT_FOUND');
  }
  const scope = { companyId: row.company_id, instanceId };
  if (row.repeated) return { scope, replay: UNREAD };
  const unable = abilityRefusal(row.lacks, operation);
  if (unable) throw unable;
  const refusal = input.keyScope === undefined ? (instanceRefusal(row.state) ?? holdRefusal(row.hold)) : null;
  if (refusal) throw refusal;
  if (!input.force && settingsOf(row.settings).passive_mode_enabled) throw apiError('PASSIVE_MODE_ENABLED');
  return { scope, replay: null };
}

/** Never written: the accept answers a used key before it looks at the message. */
const UNREAD: MediaRecord = { mediaId: '', mimeType: '', fileName: '', sizeBytes: 0, sha256: '' };

interface Row {
  company_id: number;
  state: string;
  settings: unknown;
  lacks: string[] | null;
  hold: CompanyHold | null;
  repeated: boolean;
}
