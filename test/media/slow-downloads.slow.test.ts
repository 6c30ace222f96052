import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { createInboundStore } from '@posthorn/core/media/inbound-store.ts';
import { seedInstance } from '../support/seed.ts';
import { type MediaServer, startMediaServer } from './support.ts';

/** Long enough for a machine that does much else; without data a download may last twelve times as long. */
const SILENCE_MS = 1_000;

describe('received media that comes slowly', () => {
  let media: MediaServer;
  let scope: { companyId: number; instanceId: string };
  before(async () => {
    media = await startMediaServer();
    const { companyId } = media.company;
    scope = { companyId, instanceId: await seedInstance(media.parts.db, companyId) };
  });
  after(() => media.close());

  /** Stores media of so many parts, one every 200 ms. */
  function download(key: string, part: Buffer, count: number) {
    const store = createInboundStore(
      { ...media.media, storage: media.media.storage! },
      { silenceMs: SILENCE_MS },
    );
    async function* parts() {
      for (let nth = 0; nth < count; nth += 1) {
        yield part;
        await delay(200);
      }
    }
    const open = async () => Readable.from(parts());
    const about = { remoteJid: '5511999990000@s.whatsapp.net', mimeType: 'application/pdf', fileName: '' };
    return store.store(scope, { key, ...about, open });
  }

  it('is stored, however long it takes', async () => {
    const { mediaId } = await download('3EB0B1', Buffer.alloc(64 * 1024, 'a'), 70);
    const { rows } = await media.parts.db.query('SELECT size_bytes FROM media WHERE id = $1', [mediaId]);
    assert.equal(Number(rows[0]!.size_bytes), 70 * 64 * 1024);
  });

  it('is given up where hardly anything comes', async () => {
    await assert.rejects(download('3EB0B2', Buffer.from('a'), 150), { name: 'MediaRejected' });
  });
});
