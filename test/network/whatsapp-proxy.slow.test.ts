import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startHttpProxy } from '../support/whatsapp/proxies.ts';
import { MEDIA_HOST } from '../support/whatsapp/tls-certificate.ts';
import { pairWhatsApp, startNetwork, until } from './whatsapp-harness.ts';

test('a history comes although the proxy does not answer when it is fetched first', async (t) => {
  const network = await startNetwork();
  t.after(() => network.close());
  const mediaHost = `${MEDIA_HOST}:443`;
  const proxy = await startHttpProxy(t, { [mediaHost]: network.mediaHost });
  proxy.silentTo.push(mediaHost);
  const [own, friend] = [network.phone('5511700000041'), network.phone('5511700000042')];
  own.phone.givesHistoryAs = 'file';
  own.remember(friend, [{ text: 'Long ago', fromMe: false, at: new Date(1_700_000_000_000) }]);
  const instance = await pairWhatsApp(t, network, own, { proxy: proxy.address });
  const batch = await until(() => instance.history[0], 'the history', 90_000);
  assert.equal(batch.messages.length, 1);
  assert.equal(proxy.led.filter((host) => host === mediaHost).length, 2);
});
