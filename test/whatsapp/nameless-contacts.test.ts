import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { SendDeferred, SendRefused } from '@posthorn/core/network/driver.ts';
import { sendText } from '../support/whatsapp/driver-harness.ts';
import { type BesiegedAccount, startBesieged } from '../support/whatsapp/hostile.ts';

let account: BesiegedAccount;
before(async () => {
  account = await startBesieged();
});
after(() => account?.close());

it('a contact whose anonymous id the network does not name: asked less and less often, then failed with a reason', async () => {
  const { network, recorded, newPhone } = account;
  const friend = newPhone();
  let questions = 0;
  let isNamed = false;
  network.faults.namesLid = (number) => {
    if (number === friend.number) questions += 1;
    return isNamed || number !== friend.number;
  };
  const outcome = () => sendText(recorded, friend.jid, 'Hello').catch((err: unknown) => err);
  const outcomes: unknown[] = [];
  // As the owner tries again, every 5 s.
  while (!(outcomes.at(-1) instanceof SendRefused) && outcomes.length < 120) {
    outcomes.push(await outcome());
    account.pass(5_000);
  }
  const last = outcomes.pop();
  assert.ok(last instanceof SendRefused && last.reason === 'recipient_not_addressable', String(last));
  for (const each of outcomes) assert.ok(each instanceof SendDeferred, String(each));
  assert.ok(outcomes.length >= 10 && outcomes.length <= 20, `${outcomes.length} tries`);
  assert.ok(questions <= 6, `${questions} questions`);
  assert.ok((await outcome()) instanceof SendRefused, 'the next send to the same contact');

  isNamed = true;
  account.pass(10 * 60_000);
  await friend.message(String(await outcome()));
});
