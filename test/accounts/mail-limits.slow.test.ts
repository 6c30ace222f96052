import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { mailboxOf } from '@posthorn/core/mail/mail-budget.ts';
import { mailName } from '@posthorn/core/mail/mail-name.ts';
import { mails } from '@posthorn/core/mail/mails.ts';
import { askUntilServed } from '../support/ask-until-served.ts';
import { tellFigure } from '../support/figures.ts';
import { PROBE_LIMIT_MS, probeWhile } from '../support/probe.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { type ApiAnswer, refused } from './support/api-client.ts';
import { logIn, newCompanyName, newEmail, newOwner, PASSWORD, type Person } from './support/people.ts';

describe('mails to one mailbox', () => {
  let server: AccountServer;
  before(async () => {
    server = await startAccountServer();
  });
  after(() => server.close());

  const startChange = (who: Person, new_email: string) =>
    server.api('POST', '/v1/auth/me/email/start', {
      jwt: who.jwt,
      body: { new_email, current_password: who.password },
    });
  const invite = (who: Person, email: string) =>
    server.api('POST', '/v1/users', { jwt: who.jwt, body: { email, name: 'Ana', role: 'agent' } });
  const uninvite = (who: Person, answer: ApiAnswer) =>
    server.api('DELETE', `/v1/users/${answer.body.id}`, { jwt: who.jwt });

  test('e-mail changes: five codes, whoever asks, then 429 RATE_LIMITED with Retry-After, and one each six hours', async () => {
    const victim = newEmail();
    const people = [await newOwner(server), await newOwner(server), await newOwner(server)];
    for (let i = 0; i < 5; i++) assert.equal((await startChange(people[i % 3]!, victim)).status, 202);
    for (const person of people) {
      const answer = await startChange(person, victim);
      refused(answer, 429, 'RATE_LIMITED');
      assert.equal(answer.headers.get('retry-after'), String(6 * 3600));
    }
    assert.equal((await server.mailsTo(victim)).length, 5);
    const other = newEmail();
    assert.equal((await startChange(people[0]!, other)).status, 202, 'nobody else is hurt');
    server.clock.advance(6 * 3_600_000);
    const later = await newOwner(server);
    assert.equal((await startChange(later, victim)).status, 202);
    refused(await startChange(later, victim), 429, 'RATE_LIMITED');
  });

  test('no e-mail change begins without the notice to the old address: 429 RATE_LIMITED when that has had too many', async () => {
    const person = await newOwner(server);
    for (let i = 0; i < 5; i++) assert.equal((await startChange(person, newEmail())).status, 202);
    const notices = async () =>
      (await server.mailsTo(person.email)).filter((mail) => /about to change/.test(mail.subject)).length;
    assert.equal(await notices(), 5);
    const stolen = newEmail();
    const answer = await startChange(person, stolen);
    refused(answer, 429, 'RATE_LIMITED');
    assert.ok(Number(answer.headers.get('retry-after')) > 0);
    assert.deepEqual(await server.mailsTo(stolen), []);
    server.clock.advance(3_600_000);
    const again = { ...person, jwt: (await logIn(server, person.email)).body.token };
    assert.equal((await startChange(again, stolen)).status, 202);
    assert.equal(await notices(), 6);
  });

  test('no more of many simultaneous requests pass than the limit allows, and nobody else is refused', async () => {
    const victim = newEmail();
    const people: Person[] = [];
    for (let i = 0; i < 8; i++) people.push(await newOwner(server));
    const { result: answers, probed } = await probeWhile(
      {
        url: `${server.baseUrl}/v1/tokens`,
        headers: { 'x-api-key': (await newOwner(server)).key },
      },
      () => Promise.all(people.map((person) => askUntilServed(() => startChange(person, victim)))),
    );
    assert.deepEqual(probed.failures, []);
    tellFigure('slowest answer to others, beside eight e-mail changes', probed.slowestMs, {
      atMost: PROBE_LIMIT_MS,
    });
    const statuses = answers.map((answer) => answer.status).sort();
    assert.deepEqual(statuses, [202, 202, 202, 202, 202, 429, 429, 429]);
    assert.equal((await server.mailsTo(victim)).length, 5);
  });

  test('invites: taken back and sent again without end, from many companies; a refused one makes no user', async () => {
    const victim = newEmail();
    const people = [await newOwner(server), await newOwner(server)];
    for (let i = 0; i < 5; i++) {
      const who = people[i % 2]!;
      const invited = await invite(who, victim);
      assert.equal(invited.status, 201, invited.text);
      assert.equal((await uninvite(who, invited)).status, 204);
    }
    refused(await invite(people[0]!, victim), 429, 'RATE_LIMITED');
    refused(await invite(people[1]!, victim.replace('@', '+tag@').toUpperCase()), 429, 'RATE_LIMITED');
    assert.equal((await server.mailsTo(victim)).length, 5);
    const withPassword = { email: victim, name: 'A', role: 'agent', password: PASSWORD };
    const made = await server.api('POST', '/v1/users', { jwt: people[0]!.jwt, body: withPassword });
    assert.equal(made.status, 201, 'the address is free, and a user with a password needs no mail');
  });

  test('registrations under many spellings of one mailbox: five mails, but all of the accounts', async () => {
    const [local, domain] = newEmail().split('@') as [string, string];
    const spellings = Array.from({ length: 8 }, (_, i) => `${local}+${i}@${domain}`);
    for (const [i, email] of spellings.entries()) {
      const quick = i % 2 === 0;
      const body = quick
        ? { email }
        : { company_name: newCompanyName(), owner_email: email, owner_name: 'O', password: PASSWORD };
      const answer = await server.api('POST', `/v1/auth/${quick ? 'quick-' : ''}register`, { body });
      assert.equal(answer.status, 201, answer.text);
    }
    let sent = 0;
    for (const email of spellings) sent += (await server.mailsTo(email)).length;
    assert.equal(sent, 5);
  });

  test('resets: five in half an hour; what strangers send uses up none of them', async () => {
    const victim = await newOwner(server);
    const stranger = await newOwner(server);
    for (let i = 0; i < 7; i++) await startChange(stranger, victim.email);
    const forgot = () => server.api('POST', '/v1/auth/forgot-password', { body: { email: victim.email } });
    const resets = async () =>
      (await server.mailsTo(victim.email)).filter((mail) => mail.subject === 'Reset your password').length;
    for (let i = 0; i < 8; i++) await forgot();
    assert.equal(await resets(), 5);
    // Used links leave room for new ones in the count of links, but still no sixth mail goes out.
    await server.db.query('DELETE FROM password_links WHERE company_id = $1', [victim.companyId]);
    assert.equal((await forgot()).status, 202);
    assert.equal(await resets(), 5);
    const { rows } = await server.db.query('SELECT 1 FROM password_links WHERE company_id = $1', [
      victim.companyId,
    ]);
    assert.equal(rows.length, 0, 'no link that nobody was sent');
    server.clock.advance(30 * 60_000);
    await forgot();
    assert.equal(await resets(), 6);
  });

  test('verification codes: resent for an hour, once a minute, a mailbox gets a dozen', async () => {
    const person = await newOwner(server, { verified: false });
    let refusals = 0;
    for (let minute = 0; minute < 14; minute++) {
      const answer = await server.api('POST', '/v1/auth/verify-email/resend', { jwt: person.jwt });
      if (answer.status !== 202) {
        refused(answer, 429, 'EMAIL_VERIFICATION_RESEND_COOLDOWN');
        assert.ok(Number(answer.headers.get('retry-after')) > 60);
        refusals += 1;
      }
      server.clock.advance(61_000);
    }
    assert.equal(refusals, 4);
  });

  test('notices: an account with another’s address cannot flood it by its actions', async () => {
    const squatter = await newOwner(server, { verified: false });
    for (let i = 0; i < 12; i++) await startChange(squatter, newEmail());
    const notices = (await server.mailsTo(squatter.email)).filter((mail) => /about to/.test(mail.subject));
    assert.equal(notices.length, 5);
  });

  test('one mailbox under its spellings', () => {
    for (const email of ['A.N.A+x@Gmail.com', 'ana@gmail.com', 'an.a+y+z@GMAIL.com'])
      assert.equal(mailboxOf(email), 'ana@gmail.com');
    assert.equal(mailboxOf('a.na+x@example.test'), 'a.na@example.test');
    assert.notEqual(mailboxOf('a.na@example.test'), mailboxOf('ana@example.test'));
  });
});

/** Names that a stranger may choose in the hope that our mails to others carry them. */
const HOSTILE = [
  'Ana\r\nBcc: everybody@example.test',
  'Ana\n\nYour account is locked: https://evil.example/unlock',
  'http://evil.example',
  'evil.example/login',
  'www.evil.example',
  'visit evil．example now',
  'mailto:boss@evil.example',
  'a\u0000b\u0007c\u001b[31m',
  'zero\u200bwidth\u202eelgoog\u2028line',
  '<a href="https://evil.example">click</a>',
  `${'Dear customer, '.repeat(20)}`,
];

describe('names in mails', () => {
  for (const name of HOSTILE)
    test(`${JSON.stringify(name.slice(0, 40))} is one plain short line`, () => {
      const plain = mailName(name);
      assert.doesNotMatch(plain, /[\p{C}\p{Zl}\p{Zp}]/u);
      assert.doesNotMatch(plain, /[:/@\\]|\.[\p{L}\p{N}]/u, plain);
      assert.ok([...plain].length <= 60, plain);
    });

  test('honest ones stay as they are', () => {
    for (const name of ['Ana', 'Müller & Söhne', 'J. R. Doe Ltd.', "O'Neill (Lisboa)", '日本電気'])
      assert.equal(mailName(name), name);
  });

  test('no mail has a link of a stranger, whichever it is, nor a name in its subject', () => {
    const link = 'https://console.example.test/reset-password?token=x';
    for (const name of HOSTILE) {
      const company = name;
      const cleared = { users: 1, webhooks: 1, instances: 1, scheduled: 1, queued: 1, proxies: 1 };
      const all = {
        verificationCode: mails.verificationCode({ name, code: '123456' }),
        passwordReset: mails.passwordReset({ name, link, minutes: 30, provesOwner: true }),
        passwordChanged: mails.passwordChanged({ name }),
        invite: mails.invite({ name, company, link, days: 7 }),
        emailChangeCode: mails.emailChangeCode({ name, code: '123456' }),
        emailChangeNotice: mails.emailChangeNotice({ name }),
        accountDeleted: mails.accountDeleted({ name, company, purgeOn: '2026-01-01' }),
        accountTakenOver: mails.accountTakenOver({ company, keys: 1, cleared }),
        accessEnded: mails.accessEnded({ name, company }),
        feedback: mails.feedback({ id: 1, companyId: 2, userId: 3, kind: 'bug', message: name, page: name }),
      };
      const others = Object.keys(mails).filter((kind) => !(kind in all));
      assert.deepEqual(others, ['quickRegistration'], 'every kind with a name is looked at');
      for (const [kind, mail] of Object.entries(all)) {
        for (const text of [mail.text, mail.html, mail.subject])
          assert.doesNotMatch(
            text.replaceAll(link, ''),
            /evil\.example|everybody@|https?:/,
            `${kind}: ${text}`,
          );
        assert.doesNotMatch(mail.subject, /evil|Ana|Dear|\n/, kind);
      }
    }
  });

  test('a name with line breaks writes no header of the mail that goes out', async () => {
    const server = await startAccountServer();
    try {
      const owner = await newOwner(server);
      const email = newEmail();
      const body = { email, name: 'Ana\r\nBcc: everybody@example.test\r\n\r\nbody', role: 'agent' };
      assert.equal((await server.api('POST', '/v1/users', { jwt: owner.jwt, body })).status, 201);
      await server.mailsTo(email);
      const directory = path.join(server.config.DATA_DIR, 'mail');
      const invites = (await readdir(directory)).filter((file) => file.endsWith('-invite.eml'));
      assert.equal(invites.length, 1);
      const raw = await readFile(path.join(directory, invites[0]!), 'utf8');
      assert.doesNotMatch(raw, /^bcc:/im);
      assert.doesNotMatch(raw, /everybody@/);
    } finally {
      await server.close();
    }
  });
});
