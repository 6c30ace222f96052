import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { claimMails } from '@posthorn/core/mail/claim-mails.ts';
import { createFileMailer } from '@posthorn/core/platform/mail/file.ts';
import { createSmtpMailer } from '@posthorn/core/platform/mail/smtp.ts';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { freePort, waitFor } from '../support/process.ts';
import { type AccountServer, startAccountServer } from './support/account-server.ts';
import { codeIn, type ReadMail, readMail } from './support/mailbox.ts';
import { newEmail, register } from './support/people.ts';

describe('mail through a real SMTP server', () => {
  let smtp: SMTPServer;
  let port: number;
  let server: AccountServer;
  const received: ReadMail[] = [];
  /** Status codes with which the SMTP server refuses the next messages, in order; when empty, it accepts them. */
  const refusals: number[] = [];

  function listen(): Promise<void> {
    smtp = new SMTPServer({
      disabledCommands: ['STARTTLS'],
      closeTimeout: 50,
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        username === 'post horn' && password === 'p@ss:word'
          ? done(null, { user: username })
          : done(new Error('wrong')),
      onData(stream, _session, done) {
        const refusal = refusals.shift();
        simpleParser(stream).then((mail) => {
          if (refusal) return done(Object.assign(new Error('no'), { responseCode: refusal }));
          received.push(readMail(mail));
          done();
        }, done);
      },
    });
    smtp.on('error', () => undefined);
    return new Promise((resolve) => smtp.listen(port, '127.0.0.1', resolve));
  }
  const hangUp = () => new Promise<void>((resolve) => smtp.close(() => resolve()));
  const mailsTo = (to: string) => received.filter((mail) => mail.to === to);
  const waiting = async () =>
    (
      await server.db.query<{ attempts: number; failed: boolean; next_attempt_at: Date; last_error: string }>(
        'SELECT attempts, failed_at IS NOT NULL AS failed, next_attempt_at, last_error, sealed FROM mails ORDER BY id DESC',
      )
    ).rows;

  before(async () => {
    port = await freePort();
    await listen();
    const url = `smtp://${encodeURIComponent('post horn')}:${encodeURIComponent('p@ss:word')}@127.0.0.1:${port}`;
    server = await startAccountServer(
      {},
      { mailer: createSmtpMailer({ url, from: 'Posthorn <no-reply@posthorn.example.test>' }) },
    );
    server.mailSender.start();
  });
  after(async () => {
    await server.close();
    await hangUp();
  });

  test('a mail is there soon after the request, in text and HTML, and the outbox is empty', async () => {
    const email = newEmail();
    await register(server, email);
    const [mail] = await waitFor(() => (mailsTo(email).length > 0 ? mailsTo(email) : null));
    assert.equal(mail!.from, 'no-reply@posthorn.example.test');
    assert.match(mail!.html, new RegExp(codeIn(mail!)));
    await waitFor(async () => (await waiting()).length === 0);
  });

  test('a mail server that is down delays mails and fails no request; each arrives once it is up', async () => {
    await hangUp();
    const emails = Array.from({ length: 5 }, newEmail);
    for (const email of emails) await register(server, email);
    await waitFor(async () => {
      const rows = await waiting();
      return rows.length === 5 && rows.every((row) => row.last_error);
    });
    for (const row of await waiting()) {
      assert.equal(row.attempts, 1);
      assert.ok(!row.last_error.includes('@'), 'no address in what is kept of an error');
    }
    server.clock.advance(5_000);
    // Waits grow: 5 s, then 30 s. Only then is the second failure written down.
    const retryAt = server.clock.now().getTime() + 30_000;
    await waitFor(async () =>
      (await waiting()).every((row) => row.attempts === 2 && row.next_attempt_at.getTime() === retryAt),
    );
    await listen();
    server.clock.advance(29_000);
    await server.mailSender.runOnce();
    assert.ok((await waiting()).every((row) => row.attempts === 2));
    server.clock.advance(1_000);
    await waitFor(async () => (await waiting()).length === 0);
    for (const email of emails) assert.equal(mailsTo(email).length, 1);
  });

  test('a refusal for now (451) is tried again, with the same Message-ID', async () => {
    refusals.push(451);
    const email = newEmail();
    await register(server, email);
    await waitFor(async () => (await waiting())[0]?.attempts === 1 && (await waiting())[0]?.last_error);
    server.clock.advance(5_000);
    await waitFor(() => mailsTo(email).length === 1);
  });

  test('a refusal for good (550) is given up at once, and nothing of the mail stays', async () => {
    refusals.push(550);
    await register(server);
    const row = await waitFor(async () => (await waiting()).find((mail) => mail.failed));
    assert.equal(row.attempts, 1);
    assert.equal((row as unknown as { sealed: Buffer }).sealed.length, 0);
    await server.db.query('DELETE FROM mails');
  });

  test('a mail that could not be sent for a day is given up', async () => {
    await hangUp();
    await register(server);
    for (let hours = 0; hours < 30 && !(await waiting())[0]?.failed; hours++) {
      await server.mailSender.runOnce();
      server.clock.advance(3_600_000);
    }
    assert.equal((await waiting())[0]!.failed, true);
    await server.db.query('DELETE FROM mails');
    await listen();
  });

  test('a server that takes the connection and never speaks holds nobody up for ever', {
    timeout: 30_000,
  }, async () => {
    const mute: Server = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const mailer = createSmtpMailer({
      url: `smtp://127.0.0.1:${(mute.address() as { port: number }).port}`,
      from: 'x@example.test',
    });
    await assert.rejects(
      mailer.send({ id: '1', kind: 'x', to: 'y@example.test', subject: 's', text: 't', html: 'h' }),
    );
    await mailer.close();
    mute.close();
  });
});

describe('mail without a mail server', () => {
  test('a worker that died over a mail leaves it to another, two minutes on', async () => {
    const server = await startAccountServer();
    try {
      const email = newEmail();
      await register(server, email);
      // Claimed, and never settled.
      await claimMails(server.db, { now: server.clock.now(), limit: 5 });
      assert.equal(await server.mailSender.runOnce(), 0);
      server.clock.advance(120_000);
      assert.equal(await server.mailSender.runOnce(), 1);
      assert.ok(codeIn(await server.lastMail(email)));
    } finally {
      await server.close();
    }
  });

  test('two workers never send one mail twice', async () => {
    const server = await startAccountServer();
    try {
      for (let i = 0; i < 10; i++) await register(server);
      const taken = await Promise.all(
        Array.from({ length: 6 }, () => claimMails(server.db, { now: server.clock.now(), limit: 5 })),
      );
      const ids = taken.flat().map((mail) => mail.id);
      assert.equal(ids.length, 10);
      assert.equal(new Set(ids).size, 10);
    } finally {
      await server.close();
    }
  });

  test('becomes an .eml file, and a log line names it', async () => {
    const directory = mkdtempSync(path.join(tmpdir(), 'posthorn-mail-'));
    const lines: { file?: string }[] = [];
    const mailer = createFileMailer({
      directory: path.join(directory, 'mail'),
      from: 'Posthorn <no-reply@posthorn.local>',
      log: { warn: (entry: { file?: string }) => lines.push(entry) } as never,
    });
    await mailer.send({
      id: '42',
      kind: 'invite',
      to: 'ana@example.test',
      subject: 'Olá, São Paulo',
      text: 'Olá',
      html: '<p>Olá</p>',
    });
    const file = path.join(directory, 'mail', '42-invite.eml');
    assert.deepEqual(lines, [{ file, kind: 'invite' }]);
    const mail = await simpleParser(readFileSync(file));
    assert.equal(mail.subject, 'Olá, São Paulo');
    assert.equal(mail.messageId, '<42@posthorn>');
    assert.match(mail.text!, /Olá/);
    assert.match(String(mail.html), /<p>Olá<\/p>/);
    rmSync(directory, { recursive: true });
  });
});
