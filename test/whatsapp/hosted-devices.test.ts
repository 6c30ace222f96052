import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';
import { until } from '../support/whatsapp/phone-handle.ts';

/** A business may answer by Meta's interface and by its phone. */
describe('what the device that Meta runs for a business sends', () => {
  let account: BesiegedAccount;
  before(async () => {
    account = await startBesieged();
  });
  after(() => account?.close());

  for (const addressing of ['pn', 'lid'] as const) {
    it(`arrives in the chat with the business, named by ${addressing}`, async () => {
      const business = account.newPhone();
      const id = business.text(account.own, 'Your order is ready', { addressing, isHosted: true });
      await account.arrives(id);
      const told = account.recorded.inbound.filter(({ networkId }) => networkId === id);
      assert.deepEqual(
        told.map(({ chat, from, content }) => [chat, from, content.text]),
        [[business.jid, business.jid, 'Your order is ready']],
      );
      await until(() => account.own.device.pending.length === 0, 'it is confirmed');
    });
  }
});
