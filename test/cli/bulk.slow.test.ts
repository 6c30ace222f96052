import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { csvLine, csvOf, parseCsv } from '@posthorn/cli/csv.ts';
import fc from 'fast-check';
import { type HttpServer, json, refuse, startHttp } from '../sdk/http-server.ts';
import { waitFor } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const INSTANCE = '0f8fad5b-d9cb-469f-a165-708677289501';

describe('CSV', () => {
  test('reads back everything that it writes, except formulas and characters that move a cursor', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'é', '5') });
    const rows = fc.array(fc.array(cell, { minLength: 1, maxLength: 4 }), { maxLength: 5 });
    fc.assert(
      fc.property(rows, (given) => {
        const kept = given.filter((cells) => cells.some((each) => each !== ''));
        const read = parseCsv(given.map(csvLine).join('')).map(({ cells }) => cells);
        assert.deepEqual(read, kept);
      }),
    );
  });

  test('is read as spreadsheets write it, with the line number of each row', () => {
    assert.deepEqual(parseCsv('\ufeffto,text\r\n\r\n5,"a\nb ""c"""\r\n6,d'), [
      { line: 1, cells: ['to', 'text'] },
      { line: 3, cells: ['5', 'a\nb "c"'] },
      { line: 5, cells: ['6', 'd'] },
    ]);
    for (const [text, line] of [
      ['a\n"b', 2],
      ['a,b"c', 1],
      ['"a"b', 1],
    ] as const)
      assert.throws(() => parseCsv(text), new RegExp(`line ${line} `));
  });

  test('is read with cells of any size, also when an open quote swallows the rest of the file', () => {
    const long = 'x""\n'.repeat(1_000_000);
    assert.equal(parseCsv(`a\n"${long}"\nb`)[2]?.line, 1_000_003);
    assert.throws(() => parseCsv(`a\n"${long}`), /line 2 /);
  });

  test('holds lists under any field name, and turns formulas of strangers into plain text', () => {
    const list = {
      labels: [
        { id: 1, name: '=HYPERLINK("x")' },
        { id: 2, color: { hex: '#fff' } },
      ],
      total: 2,
      page: 1,
    };
    assert.equal(csvOf(list), `id,name,color\n1,"'=HYPERLINK(""x"")",\n2,,"{""hex"":""#fff""}"\n`);
    assert.equal(
      csvLine(['@x', '+5511 999', '-1.5', '+cmd|x', 'a\u001b[2J']),
      `'@x,+5511 999,-1.5,'+cmd|x,a\\u001b[2J\n`,
    );
    assert.equal(csvOf({ data: [], total: 0, page: 1, limit: 50 }), '');
    const events = { data: [{ event_id: 'a' }, { event_id: 'b' }], next_cursor: null, reset: false };
    assert.equal(csvOf(events), 'event_id\na\nb\n');
    assert.equal(csvOf({ id: 1, name: 'x' }), 'id,name\n1,x\n');
  });
});

describe('msgctl bulk send', { timeout: 300_000 }, () => {
  let server: HttpServer;
  let cli: Cli;
  let folder: string;
  /** The messages that would have reached the network, by key: the service repeats nothing. */
  const sent = new Map<string, { to: string; text: string }>();
  let hangAt = 0;
  let refuses: Record<string, [number, string]> = {};
  before(async () => {
    server = await startHttp((res, { headers, body }) => {
      const key = String(headers['idempotency-key']);
      const given = JSON.parse(body) as { to: string; text: string };
      const refusal = refuses[given.to];
      if (refusal) return refuse(res, ...refusal);
      const before = sent.get(key);
      if (before && before.text !== given.text) return refuse(res, 422, 'IDEMPOTENCY_KEY_REUSED');
      sent.set(key, given);
      // It was accepted, and the answer is lost.
      if (sent.size === hangAt) return;
      json(res, 202, { message_id: `id-${given.to}`, idempotency_key: key, status: 'queued' });
    });
    const env = { POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', POSTHORN_INSTANCE: INSTANCE };
    cli = createCli(env, { timeoutMs: 60_000 });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });
  beforeEach(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'posthorn-bulk-'));
    sent.clear();
    hangAt = 0;
    refuses = {};
    return () => rmSync(folder, { recursive: true });
  });

  const fileOf = (csv: string | Buffer, name = 'contacts.csv') => {
    const file = path.join(folder, name);
    writeFileSync(file, csv);
    return file;
  };
  const report = () => readFileSync(path.join(folder, 'contacts.report.csv'), 'utf8');
  const rows = (count: number) =>
    Array.from({ length: count }, (_, at) => `Ana,551199999${1000 + at},"Hello, ${at}"`).join('\n');

  test('sends each row once, and a second run sends nothing', async () => {
    const file = fileOf(`name,to,text\n${rows(5)}\n`);
    const first = await cli.run(['bulk', 'send', file]);
    assert.equal(first.code, 0, first.stderr);
    assert.match(first.stderr, /5 accepted, 0 refused, 0 sent before/);
    assert.equal(sent.size, 5);
    assert.deepEqual([...sent.values()][2], { to: '5511999991002', text: 'Hello, 2' });
    assert.equal(parseCsv(report()).length, 6);
    const before = server.seen.length;
    const second = await cli.run(['bulk', 'send', file]);
    assert.match(second.stderr, /0 accepted, 0 refused, 5 sent before/);
    assert.equal(server.seen.length, before);
  });

  test('knows a recipient again whose number has blanks that no formula would have', async () => {
    const file = fileOf('to,text\n+55\u00a011\u00a099999-1000,Hello\n+55\u202f11\u202f99999-1001,Hello\n');
    assert.match((await cli.run(['bulk', 'send', file])).stderr, /2 accepted, 0 refused, 0 sent before/);
    const before = server.seen.length;
    assert.match((await cli.run(['bulk', 'send', file])).stderr, /0 accepted, 0 refused, 2 sent before/);
    assert.equal(server.seen.length, before);
  });

  test('continues where it was killed, and sends the row under way once', async () => {
    const file = fileOf(`to,text\n${rows(6).replaceAll('Ana,', '')}`);
    hangAt = 3;
    const running = cli.start(['bulk', 'send', file]);
    await waitFor(() => sent.size === 3, 30_000);
    await running.stop();
    // Half of a line, as a run leaves it when it dies while it writes.
    writeFileSync(path.join(folder, 'contacts.report.csv'), `${report()}55119999`);
    hangAt = 0;
    const again = await cli.run(['bulk', 'send', file]);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /4 accepted, 0 refused, 2 sent before/);
    assert.equal(sent.size, 6, 'no row has a second key');
    assert.equal(new Set([...sent.values()].map(({ to }) => to)).size, 6);
    assert.equal(parseCsv(report()).length, 7);
  });

  test('reports refused rows, tries them again, and ends at an error that holds for all rows', async () => {
    const file = fileOf('to,text\n1,a\n2,b\n3,c\n');
    refuses = { 2: [400, 'INVALID_PHONE'] };
    const first = await cli.run(['bulk', 'send', file, '--json']);
    assert.equal(first.code, 1);
    const { error } = JSON.parse(first.stderr);
    assert.deepEqual([error.code, error.accepted, error.refused], ['ROWS_REFUSED', 2, 1]);
    const told = first.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).status);
    assert.deepEqual(told, ['accepted', 'refused', 'accepted']);
    assert.match(report(), /^2,refused,,INVALID_PHONE$/m);
    refuses = { 2: [409, 'INSTANCE_NOT_CONNECTED'] };
    const ended = await cli.run(['bulk', 'send', file]);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, /INSTANCE_NOT_CONNECTED/);
    refuses = {};
    assert.equal((await cli.run(['bulk', 'send', file])).code, 0);
    assert.equal(sent.size, 3);
  });

  test('refuses a text that was changed after its row was under way, and does not send it a second time', async () => {
    const file = fileOf('to,text\n1,a\n');
    hangAt = 1;
    const running = cli.start(['bulk', 'send', file]);
    await waitFor(() => sent.size === 1, 30_000);
    await running.stop();
    hangAt = 0;
    fileOf('to,text\n1,changed\n');
    assert.match((await cli.run(['bulk', 'send', file])).stderr, /0 accepted, 1 refused/);
    assert.match(report(), /IDEMPOTENCY_KEY_REUSED/);
    assert.match((await cli.run(['bulk', 'send', file, '--campaign', 'may'])).stderr, /1 accepted/);
  });

  test('checks the whole file before the first row is sent', async () => {
    const cases: [string | Buffer, RegExp][] = [
      [Buffer.from('to,text\n1,José\n', 'latin1'), /is not UTF-8/],
      ['to,text\n1,a\n2,\n', /line 3: no recipient or no text/],
      ['to,text\n1,a\n1,b\n', /lines 2 and 3: 1 stands there twice/],
      ['phone,text\n1,a\n', /needs the columns to and text/],
      ['to,text\n1,"a\n', /line 2 of the CSV/],
      ['', /needs the columns/],
    ];
    for (const [csv, wanted] of cases) {
      const { code, stderr } = await cli.run(['bulk', 'send', fileOf(csv)]);
      assert.equal(code, 2, stderr);
      assert.match(stderr, wanted);
    }
    assert.equal(sent.size, 0);
  });

  test('writes over no file that is no report, and reads a pipe only when it is named', async () => {
    const file = fileOf('to,text\n1,a\n');
    const other = fileOf('my notes\n', 'notes.txt');
    const refused = await cli.run(['bulk', 'send', file, '--report', other]);
    assert.match(refused.stderr, /is no report of bulk send/);
    assert.equal(readFileSync(other, 'utf8'), 'my notes\n');
    mkdirSync(path.join(folder, 'folder'));
    assert.match(
      (await cli.run(['bulk', 'send', file, '--report', path.join(folder, 'folder')])).stderr,
      /EISDIR/,
    );
    assert.match(
      (await cli.run(['bulk', 'send', '-'], {}, 'to,text\n1,a\n')).stderr,
      /needs --report and --campaign/,
    );
    const named = ['--report', path.join(folder, 'r.csv'), '--campaign', 'may'];
    assert.equal((await cli.run(['bulk', 'send', '-', ...named], {}, 'to,text\n1,a\n')).code, 0);
    assert.equal(sent.size, 1);
  });
});
