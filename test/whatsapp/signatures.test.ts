import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadLibrary } from '@posthorn/network/whatsapp/library.ts';
import { isSigned } from '@posthorn/network/whatsapp/signatures.ts';
import { generateKeys, isSignedBy, sign, withType } from '../support/whatsapp/keys.ts';
import { startWhatsAppNetwork, type WhatsAppNetwork } from '../support/whatsapp/network.ts';
import type { CertificateFault } from '../support/whatsapp/noise.ts';
import { until } from '../support/whatsapp/phone-handle.ts';
import { connectRaw, newState, pairRaw } from '../support/whatsapp/raw-client.ts';
import type { PairingFault } from '../support/whatsapp/world.ts';

async function withNetwork(
  options: { certificate?: CertificateFault },
  run: (network: WhatsAppNetwork) => Promise<void>,
): Promise<void> {
  const network = await startWhatsAppNetwork(options);
  try {
    await run(network);
  } finally {
    await network.close();
  }
}

describe('the signature of an X25519 key', () => {
  const keys = generateKeys();
  const message = Buffer.from('what was signed');

  it('is accepted, with and without the key type before the key', () => {
    for (let round = 0; round < 20; round += 1) {
      const each = generateKeys();
      const signature = sign(each.private, message);
      assert.equal(isSigned(each.public, message, signature), true);
      assert.equal(isSigned(withType(each.public), message, signature), true);
    }
  });

  it('that the library makes is accepted, by node:crypto and by arithmetic', async () => {
    const library = await loadLibrary();
    for (let round = 0; round < 20; round += 1) {
      const each = generateKeys();
      const signature = library.Curve.sign(each.private, message);
      assert.equal(isSigned(each.public, message, signature), true);
      assert.equal(isSignedBy(each.public, message, signature), true);
    }
  });

  it('is refused when any part of it, of the message or of the key is another', () => {
    const signature = sign(keys.private, message);
    for (const at of [0, 31, 32, 62, 63]) {
      const other = Buffer.from(signature);
      other[at] = other[at]! ^ 0x10;
      assert.equal(isSigned(keys.public, message, other), false, `byte ${at}`);
      assert.equal(isSignedBy(keys.public, message, other), false, `byte ${at}, by arithmetic`);
    }
    assert.equal(isSigned(keys.public, Buffer.from('what was not'), signature), false);
    assert.equal(isSigned(generateKeys().public, message, signature), false);
  });

  it('is refused when it has not the form of one', () => {
    const signature = sign(keys.private, message);
    assert.equal(isSigned(keys.public, message, signature.subarray(1)), false);
    assert.equal(isSigned(keys.public.subarray(1), message, signature), false);
    assert.equal(isSigned(Buffer.concat([Buffer.from([6]), keys.public]), message, signature), false);
    assert.equal(isSigned(Buffer.alloc(32, 0xff), message, signature), false);
    // The one key that has no Edwards form: -1.
    assert.equal(isSigned(Buffer.from(`ec${'ff'.repeat(30)}7f`, 'hex'), message, signature), false);
  });
});

describe('the library, as it is loaded', () => {
  it('answers what is true where it used to accept every signature', async () => {
    const { Curve } = await loadLibrary();
    const keys = generateKeys();
    const signature = Curve.sign(keys.private, Buffer.from('one'));
    // The first check after a key agreement of this process is that of a certificate.
    Curve.verify(keys.public, Buffer.from('one'), signature);
    assert.equal(Curve.verify(keys.public, Buffer.from('one'), signature), true);
    assert.equal(Curve.verify(keys.public, Buffer.from('two'), signature), false);
  });

  it('is given the checks once, however often it is loaded', async () => {
    const { Curve } = await loadLibrary();
    const { verify, sharedKey } = Curve as unknown as Record<string, unknown>;
    const again = (await loadLibrary()).Curve as unknown as Record<string, unknown>;
    assert.equal(again.verify, verify);
    assert.equal(again.sharedKey, sharedKey);
  });

  const certificates: CertificateFault[] = [
    'wrong_leaf',
    'wrong_intermediate',
    'foreign_root',
    'foreign_server',
  ];
  for (const certificate of certificates) {
    it(`goes away from a server whose certificate is wrong: ${certificate}`, async () => {
      await withNetwork({ certificate }, async (network) => {
        const client = await connectRaw(network, await newState());
        assert.notEqual(await client.closed(), 515);
        assert.deepEqual(client.qrs, []);
      });
    });
  }

  const pairings: PairingFault[] = ['account_signature', 'foreign_account_key', 'hmac'];
  for (const pairing of pairings) {
    it(`is not paired when what the phone has signed is wrong: ${pairing}`, async () => {
      await withNetwork({}, async (network) => {
        network.faults.pairing = pairing;
        const phone = network.phone('999300000001');
        const state = await newState();
        const client = await connectRaw(network, state);
        phone.scan(await until(() => client.qrs[0], 'a QR code'));
        assert.notEqual(await client.closed(), 515);
        assert.equal(state.creds.account, undefined);
        assert.equal(phone.phone.devices.size, 0);
      });
    });
  }

  it('begins no session with a contact whose prekey has a wrong signature', async () => {
    await withNetwork({}, async (network) => {
      const ann = network.phone('999300000002');
      const bob = network.phone('999300000003');
      const [client] = await pairRaw(network, (qr) => ann.scan(qr));
      network.faults.preKeys = () => 'spoilt';
      await assert.rejects(
        client.socket.sendMessage(bob.jid, { text: 'For Bob' }, { messageId: '3EB0BB01' }),
      );
      assert.deepEqual(bob.messages, []);
      await client.close();
    });
  });
});
