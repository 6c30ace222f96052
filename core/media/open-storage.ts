import type { Db } from '../platform/database/db.ts';
import { createStorage, type StorageConfig } from '../platform/storage/create-storage.ts';
import type { Storage } from '../platform/storage/storage.ts';

/** The storage that the settings name; null for none. Close it when all is served. */
export function openStorage({ config, db }: { config: StorageConfig; db: Db }): Promise<Storage | null> {
  return createStorage(config, {
    async isInUse() {
      // A later note is of an upload that has not ended, perhaps the first one.
      const { rows } = await db.query<{ used: boolean }>(
        `SELECT EXISTS (SELECT FROM media) OR EXISTS (SELECT FROM message_archives)
           OR EXISTS (SELECT FROM media_trash WHERE due_at = '-infinity') AS used`,
      );
      return rows[0]!.used;
    },
  });
}
