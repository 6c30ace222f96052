import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { shownEvent } from '@posthorn/cli/commands/events/shown.ts';
import { TRIGGERS, WITH_TEXT } from '@posthorn/cli/commands/trigger/triggers.ts';
import { commands, headings } from '@posthorn/cli/commands.ts';
import { fitLine } from '@posthorn/cli/format.ts';
import { type HttpServer, json, startHttp } from '../sdk/http-server.ts';
import { freePort } from '../support/process.ts';
import { type Cli, createCli } from './run-cli.ts';

const INSTANCE = '0f8fad5b-d9cb-469f-a165-708677289501';
const LIST = {
  ...{ total: 2, page: 1, limit: 50 },
  data: [
    { id: INSTANCE, name: 'sales, north', state: 'CONNECTED', phone: '5511' },
    { id: 'two', name: '=cmd()', state: 'CREATED', phone: null },
  ],
};

describe('the output of msgctl', { timeout: 300_000 }, () => {
  let server: HttpServer;
  let cli: Cli;
  before(async () => {
    server = await startHttp((res, { method }) =>
      method === 'GET' ? json(res, 200, LIST) : json(res, 202, { message_id: 'm', status: 'queued' }),
    );
    cli = createCli({ POSTHORN_URL: server.url, POSTHORN_API_KEY: 'svc_x', POSTHORN_INSTANCE: INSTANCE });
  });
  after(async () => {
    cli.remove();
    await server.close();
  });
  const send = ['send', 'text', '--to', '5511', '--text', 'x'];

  test('--jq prints the output of the filter: texts as they are, other values as JSON', async () => {
    const of = async (filter: string) => (await cli.run(['instances', 'list', '--jq', filter])).stdout;
    assert.equal(await of('.data[].name'), 'sales, north\n=cmd()\n');
    assert.equal(await of('.data | length'), '2\n');
    assert.equal(await of('.data[] | select(.state == "CREATED") | {id}'), '{"id":"two"}\n');
    assert.equal(await of('.data[] | [.id, .name] | @tsv'), `${INSTANCE}\tsales, north\ntwo\t=cmd()\n`);
    assert.equal((await cli.run([...send, '--jq', '.message_id'])).stdout, 'm\n');
  });

  test('an invalid filter is refused before anything is sent', async () => {
    const before = server.seen.length;
    for (const filter of ['.a[', 'if . then', '{']) {
      const { code, stderr } = await cli.run([...send, '--jq', filter]);
      assert.equal(code, 2, `${filter}: ${stderr}`);
    }
    assert.equal(server.seen.length, before);
  });

  test('a filter that fails on the answer says that the command was done', async () => {
    const { code, stderr, stdout } = await cli.run([...send, '--json', '--jq', '.message_id.nothing | keys']);
    assert.equal(code, 1);
    assert.equal(stdout, '');
    const { error } = JSON.parse(stderr);
    assert.deepEqual([error.code, error.answer.message_id], ['FILTER_FAILED', 'm']);
    assert.match(error.message, /it was done/);
  });

  test('an error is JSON with --csv and --jq too, whoever refuses', async () => {
    const nobody = { POSTHORN_URL: `http://127.0.0.1:${await freePort()}` };
    for (const [args, code, exitCode] of [
      [['health', '--csv'], 'NETWORK', 3],
      [['instances', 'list', '--al', '--jq', '.data'], 'USAGE', 2],
      [['profiles', 'use', 'no such profile', '--jq=.name'], 'USAGE', 2],
    ] as const) {
      const { code: ended, stdout, stderr } = await cli.run(args, nobody);
      const { error } = JSON.parse(stderr);
      assert.deepEqual([ended, stdout, error.code, error.exit_code], [exitCode, '', code, exitCode]);
    }
  });

  test('--csv prints lists under the names of their fields', async () => {
    const { stdout } = await cli.run(['instances', 'list', '--csv']);
    assert.equal(
      stdout,
      `id,name,state,phone\n${INSTANCE},"sales, north",CONNECTED,5511\ntwo,'=cmd(),CREATED,\n`,
    );
    assert.equal((await cli.run([...send, '--csv'])).stdout, 'message_id,status\nm,queued\n');
    const both = await cli.run(['instances', 'list', '--csv', '--json']);
    assert.equal(both.code, 2);
    assert.match(both.stderr, /--csv goes with neither/);
  });

  test('msgctl api takes --jq and --csv like every command', async () => {
    const api = ['api', 'GET', '/v1/instances'];
    assert.equal((await cli.run([...api, '--jq', '.data[].id'])).stdout, `${INSTANCE}\ntwo\n`);
    assert.equal(
      (await cli.run([...api, '--csv'])).stdout,
      (await cli.run(['instances', 'list', '--csv'])).stdout,
    );
    assert.deepEqual(JSON.parse((await cli.run(api)).stdout), LIST);
  });

  test('help is grouped, and shows the command that is named', async () => {
    const { stdout } = await cli.run(['--help']);
    assert.deepEqual(stdout.match(/^[A-Z].*:$/gm), ['Options:', ...headings], 'in their order');
    const firsts = new Set(commands.map(({ name }) => name.split(' ')[0] as string));
    for (const first of [...firsts, 'help'])
      assert.equal(
        stdout.match(new RegExp(`^  ${first}( |$)`, 'gm'))?.length,
        1,
        `${first} stands there once`,
      );
    assert.doesNotMatch(stdout, /^Commands:$/m, 'each has its heading');
    for (const words of [['send', 'text'], ['instances', 'settings', 'set'], ['send'], []]) {
      const shown = await cli.run(['help', ...words]);
      assert.equal(shown.code, 0);
      assert.match(shown.stdout, new RegExp(`^Usage: msgctl ${words.join(' ')}`));
    }
    const unknown = await cli.run(['help', 'send', 'txt']);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /no command send txt \(did you mean text\?\)/);
  });

  test('an unknown option is named before a missing one', async () => {
    const misspelt = await cli.run(['send', 'text', '--txt', 'x']);
    assert.equal(misspelt.code, 2);
    assert.match(misspelt.stderr, /unknown option '--txt'/);
    const missing = await cli.run(['send', 'text', '--text', 'x']);
    assert.equal(missing.code, 2);
    assert.match(missing.stderr, /required option '--to <recipient>' not specified/);
  });

  test('a field of a body that is written as an option is answered with how fields are written', async () => {
    const { code, stderr } = await cli.run(['send', 'document', '--to', '5511', '--file-name', 'a.pdf']);
    assert.equal(code, 2);
    assert.match(stderr, /unknown option '--file-name'; fields are written file_name=\.\.\./);
  });

  test('trigger takes a text for events in which somebody writes, and for no others', async () => {
    for (const event of WITH_TEXT) assert.ok(event in TRIGGERS, event);
    const { code, stderr } = await cli.run(['trigger', 'call.received', 'Hello']);
    assert.equal(code, 2);
    assert.match(stderr, /call\.received takes no text/);
  });
});

describe('an event in one line', () => {
  const event = {
    ...{ event_id: INSTANCE, type: 'message.received', created_at: '2030-01-01T10:00:00.123Z' },
    data: {
      ...{
        message_type: 'text',
        phone: '5511999990000',
        is_from_me: false,
        timestamp: '2030',
        quoted_id: null,
      },
      content: { text: 'Olá\nAna' },
      message_ids: ['one'],
    },
  };

  test('begins with the fields that differ and fits the width of the terminal', () => {
    assert.equal(
      shownEvent(event, 200),
      '10:00:00.123  message.received  5511999990000  Olá\\nAna  message_ids=one',
    );
    assert.equal(shownEvent(event, 40), '10:00:00.123  message.received  5511999…');
    for (const columns of [0, 1, 20, 60])
      assert.ok(shownEvent(event, columns).length <= Math.max(1, columns));
  });

  test('is whole in a pipe', () => {
    assert.ok(shownEvent(event).includes(INSTANCE) && shownEvent(event).includes('"timestamp":"2030"'));
  });

  test('is cut between characters, and wide ones count twice', () => {
    assert.equal(fitLine('日本語', 6), '日本語');
    assert.equal(fitLine('日本語', 5), '日本…');
    assert.equal(fitLine('日本語', 4), '日…');
    assert.equal(fitLine('a👨‍👩‍👧b', 3), 'a…');
    assert.equal(fitLine('abc', 3), 'abc');
  });
});
