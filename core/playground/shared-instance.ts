import { apiError } from '@posthorn/contract/api-error.ts';
import { PLATFORM_COMPANY_ID } from '../access/superadmin.ts';
import type { InstanceSettings } from '../instances/settings.ts';
import { countShards, shardOf } from '../instances/shard.ts';
import type { Bus } from '../platform/broker/bus.ts';
import { type NotificationWaits, waitUntilFound } from '../platform/broker/notification-waits.ts';
import type { Db } from '../platform/database/db.ts';
import type { Clock } from '../platform/process/clock.ts';

/** The one instance from which all playground messages are sent; it belongs to the platform. */
export const PLAYGROUND_INSTANCE_ID = '0198c0de-b0a7-7000-8000-706c61796772';

const NAME = 'Playground, shared by all users';
const SETTINGS: Partial<InstanceSettings> = { humanize_enabled: false, anti_spam_guard_enabled: false };
const CONNECT_WAIT_MS = 10_000;

export interface SharedInstanceDeps {
  db: Db;
  bus: Bus;
  clock: Clock;
  /** Those of the channel `instance`. */
  notifications: NotificationWaits;
}

/**
 * Makes the shared instance where there is none, and waits until it is connected. One that an administrator has
 * disconnected stays so. Throws 503 SERVICE_UNAVAILABLE.
 */
export async function requireSharedInstance(deps: SharedInstanceDeps, signal: AbortSignal): Promise<void> {
  const isConnected = async () => {
    const { rows } = await deps.db.query<{ state: string }>('SELECT state FROM instances WHERE id = $1', [
      PLAYGROUND_INSTANCE_ID,
    ]);
    if (rows.length === 0) await create(deps);
    return rows[0]?.state === 'CONNECTED' ? true : null;
  };
  const wait = { payload: PLAYGROUND_INSTANCE_ID, timeoutMs: CONNECT_WAIT_MS, signal };
  if (await waitUntilFound(deps.notifications, wait, isConnected)) return;
  throw apiError('SERVICE_UNAVAILABLE', {
    message: 'the playground is not connected at the moment',
    headers: { 'retry-after': '10' },
  });
}

async function create({ db, bus, clock }: SharedInstanceDeps): Promise<void> {
  const made = await db.query(
    `INSERT INTO instances (id, company_id, name, driver, shard, state, wanted, settings, state_since, created_at,
                            updated_at)
     VALUES ($1, $2, $3, 'sandbox', $4, 'CREATED', 'connected', $5, $6, $6, $6) ON CONFLICT DO NOTHING`,
    [
      PLAYGROUND_INSTANCE_ID,
      PLATFORM_COMPANY_ID,
      NAME,
      shardOf(PLAYGROUND_INSTANCE_ID, await countShards(db)),
      JSON.stringify(SETTINGS),
      clock.now(),
    ],
  );
  if (made.rowCount === 1) bus.notify('instance', PLAYGROUND_INSTANCE_ID);
}
