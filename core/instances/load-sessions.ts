import { SYNC_ACTION_TIMEOUT_MS } from '@posthorn/contract/limits.ts';
import { type CompanyHold, holdSql } from '../access/company-hold.ts';
import type { Sql } from '../platform/database/db.ts';
import { type InstanceSettings, settingsOf } from './settings.ts';
import type { DesiredState, InstanceState } from './transitions.ts';

/** The data that the owner of an instance needs to bring its session where the users want it. */
export interface SessionRow {
  id: string;
  companyId: number;
  /** The network it is on. */
  driver: string;
  shard: number;
  /** The shard that an operator chose for it, or null. */
  placed: number | null;
  /** Added to the epoch of the shard, so that the sum grows even when the instance came from another shard. */
  epochOffset: number;
  state: InstanceState;
  /** The state that the users asked for; under a hold `disconnected`, except that a logout is finished. */
  desired: DesiredState;
  /** Why the company may hold no session, or null. */
  hold: CompanyHold | null;
  generation: number;
  settings: InstanceSettings;
  /** Sealed; null when the instance is not paired. */
  credentials: Buffer | null;
  /** The way out to the network, sealed; null: directly. */
  proxy: Buffer | null;
  /** The reason that users see for a session that is not connected. */
  lastError: string | null;
  /** Sends with a lower `seq` were accepted for another account; null: all were accepted for this one. */
  firstOwnSeq: number | null;
  /** The restriction that the network has imposed on the account, as users see it. */
  restriction: string | null;
  /** A phone for which a user waits for a pairing code. */
  codePhone: string | null;
}

/** The instances of these shards that have a session, should have one, or are leaving one. */
export async function loadSessionRows(
  sql: Sql,
  where: { shards: readonly number[] } | { instanceId: string },
): Promise<SessionRow[]> {
  const one = 'instanceId' in where;
  const found = await sql.query<Row>(
    `SELECT i.id, i.company_id, i.driver, i.proxy, i.last_error, i.restriction, i.shard, i.placed, i.epoch_offset, i.state, i.wanted, ${holdSql('c')} AS hold,
            i.generation, i.settings, i.credentials, i.first_own_seq,
            CASE WHEN p.code IS NULL AND p.code_error IS NULL AND p.code_requested_at > now() - make_interval(secs => $2)
              THEN p.code_phone END AS code_phone
     FROM instances i JOIN companies c ON c.id = i.company_id
     LEFT JOIN instance_pairings p ON p.instance_id = i.id
     WHERE ${one ? 'i.id = $1' : 'i.shard = ANY ($1::smallint[])'}`,
    [one ? where.instanceId : where.shards, SYNC_ACTION_TIMEOUT_MS / 1_000],
  );
  return found.rows.map((row) => ({
    id: row.id,
    companyId: row.company_id,
    driver: row.driver,
    proxy: row.proxy,
    lastError: row.last_error,
    restriction: row.restriction,
    shard: row.shard,
    placed: row.placed,
    epochOffset: row.epoch_offset,
    state: row.state,
    desired: row.hold !== null && row.wanted === 'connected' ? 'disconnected' : row.wanted,
    hold: row.hold,
    generation: row.generation,
    settings: settingsOf(row.settings),
    credentials: row.credentials,
    firstOwnSeq: row.first_own_seq,
    codePhone: row.code_phone,
  }));
}

interface Row {
  id: string;
  company_id: number;
  driver: string;
  proxy: Buffer | null;
  last_error: string | null;
  restriction: string | null;
  shard: number;
  placed: number | null;
  epoch_offset: number;
  state: InstanceState;
  wanted: DesiredState;
  hold: CompanyHold | null;
  generation: number;
  settings: Partial<InstanceSettings>;
  credentials: Buffer | null;
  first_own_seq: number | null;
  code_phone: string | null;
}
