import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import { pairRaw, type RawClient } from '../support/whatsapp/raw-client.ts';

describe('media on the simulated WhatsApp network', () => {
  let network: WhatsAppNetwork;
  let ann: PhoneHandle;
  let bob: PhoneHandle;
  let client: RawClient;
  before(async () => {
    network = await startWhatsAppNetwork();
    ann = network.phone('999400000001');
    bob = network.phone('999400000002');
    [client] = await pairRaw(network, (qr) => ann.scan(qr));
  });
  after(async () => {
    await client?.close();
    await network?.close();
    assert.deepEqual(network.problems, []);
  });

  it('an image is uploaded sealed, over TLS, and the phone opens it with what the message says', async () => {
    const file = randomBytes(50_001);
    const content = { image: file, caption: 'Look', mimetype: 'image/png', jpegThumbnail: 'AAAA' };
    await client.socket.sendMessage(bob.jid, content, { messageId: '3EB0CC01' });
    const received = await bob.message('3EB0CC01');
    assert.ok(bob.open(received, 'image').equals(file));
    assert.equal(received.type, 'media');
    assert.equal(network.media.uploads, 1);
    const [blob] = network.media.blobs.values();
    assert.equal(blob?.includes(file.subarray(0, 32)), false);
  });

  it('a file of a phone names where it is, and can be opened by whoever has the message', async () => {
    const file = randomBytes(1_000);
    const id = bob.file(ann, 'document', file, { mimetype: 'application/pdf', fileName: 'a.pdf' });
    const received = await client.message(id);
    const document = received.message?.documentMessage as { fileName: string; url: string };
    assert.equal(document.fileName, 'a.pdf');
    assert.ok(document.url.startsWith(`https://${network.mediaHost}/`));
  });
});
