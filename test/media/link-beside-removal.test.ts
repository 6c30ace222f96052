import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { linkToChat } from '@posthorn/core/media/link-to-chat.ts';
import { someoneWaits } from '../support/locks.ts';
import { createParts } from '../support/parts.ts';
import { waitFor } from '../support/process.ts';
import { seedCompany, seedInstance } from '../support/seed.ts';

const [BEFORE, CHAT] = ['5511900000001@s.whatsapp.net', '5511900000002@s.whatsapp.net'];

test('media is sent to a chat for the first time while other media of that chat and of none is removed', async () => {
  const parts = await createParts();
  try {
    const { db } = parts;
    const { companyId } = await seedCompany(db);
    const instanceId = await seedInstance(db, companyId);
    const store = async (remoteJid: string | null) => {
      const id = randomUUID();
      await db.query(
        `INSERT INTO media (id, company_id, instance_id, storage_key, mime_type, size_bytes, sha256, source, file_name, remote_jid, created_at)
         VALUES ($1::uuid, $2, $3, $1::uuid::text, 'image/png', 1, '', 'uploads', '', $4, now())`,
        [id, companyId, instanceId, remoteJid],
      );
      return id;
    };
    const removed = [await store(null), await store(BEFORE!), await store(CHAT!)];
    const sent = await store(null);
    let removing: Promise<unknown> | undefined;
    let linking: Promise<void> | undefined;
    await db.transaction(async (sql) => {
      await sql.query('SELECT 1 FROM media_tallies WHERE instance_id = $1 AND remote_jid = $2 FOR UPDATE', [
        instanceId,
        BEFORE,
      ]);
      removing = db.query('DELETE FROM media WHERE id = ANY ($1::uuid[])', [removed]);
      removing.catch(() => undefined);
      await waitFor(() => someoneWaits(db));
      linking = linkToChat({ db }, { mediaId: sent }, CHAT!);
      linking.catch(() => undefined);
      await waitFor(() => someoneWaits(db, 2));
    });
    await Promise.all([removing, linking]);
    const { rows } = await db.query(
      'SELECT remote_jid, media_count::integer FROM media_tallies WHERE instance_id = $1 AND media_count > 0',
      [instanceId],
    );
    assert.deepEqual(rows, [{ remote_jid: CHAT, media_count: 1 }]);
  } finally {
    await parts.close();
  }
});
