import { type Coalescer, createCoalescer } from '../platform/database/coalesce.ts';
import type { Db } from '../platform/database/db.ts';
import { type InstanceSettings, settingsOf } from './settings.ts';

/** The settings of an instance as they are now; null when it is no more. */
export type SettingsLoader = Coalescer<string, InstanceSettings | null>;

/**
 * Reads the settings in force: what arrives after a change of them was answered follows them, however late the
 * worker hears of the change (INS-13). Concurrent reads share a query.
 */
export function createSettingsLoader(deps: { db: Db }): SettingsLoader {
  return createCoalescer<string, InstanceSettings | null>({
    maxBatch: 256,
    async run(instanceIds) {
      const found = await deps.db.query<{ id: string; settings: unknown }>({
        name: 'instances-load-settings',
        text: 'SELECT id, settings FROM instances WHERE id = ANY ($1::uuid[])',
        values: [instanceIds],
      });
      const settings = new Map(found.rows.map((row) => [row.id, settingsOf(row.settings)]));
      return instanceIds.map((id) => settings.get(id) ?? null);
    },
  });
}
