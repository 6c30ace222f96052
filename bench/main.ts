/**
 * `npm run bench`: the hot paths compared with their references, in one run on one machine.
 * `--json` prints one object; `--only
 * accept,chats,e2e,instance,fairness,whatsapp,numbers,rows,cpu,pipeline,webhooks,streams,media,http,lists,memory,costs`, `--rounds`,
 * `--seconds`, `--messages`, `--sessions`, `--numbers`, `--texts`, `--rows`, `--chats` and `--memory` make it smaller. Timings are only printed:
 * they do not fail the run.
 */
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import {
  compareFullWithEmpty,
  compareImagesWithTexts,
  compareManyChatsWithNone,
  compareWithReferences,
} from './accept/compare.ts';
import type { Compared } from './accept/rounds.ts';
import { measureUnitCosts } from './costs/unit-costs.ts';
import { measureCpu } from './cpu/cpu-by-part.ts';
import { measureCpuOfPipeline } from './cpu/cpu-of-pipeline.ts';
import { compareEndToEnd } from './end-to-end/compare.ts';
import { compareNeighbours } from './end-to-end/fairness.ts';
import { measureOneInstance } from './end-to-end/one-instance.ts';
import { benchSseReaders } from './events/sse-readers.ts';
import { benchWebhookDeliveries } from './events/webhook-deliveries.ts';
import { compareStacks } from './http/compare-stacks.ts';
import { measurePages } from './lists/page-times.ts';
import { measureHeapGrowth } from './memory/heap-growth.ts';
import { startDatabases } from './servers.ts';
import { compareWithLibrary } from './whatsapp/compare.ts';
import { measureManyNumbers } from './whatsapp/many-numbers.ts';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    only: {
      type: 'string',
      default:
        'accept,chats,e2e,instance,fairness,whatsapp,numbers,rows,cpu,pipeline,webhooks,streams,media,http,lists,memory,costs',
    },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '5' },
    messages: { type: 'string', default: '10000' },
    texts: { type: 'string', default: '400' },
    rows: { type: 'string', default: '10000000' },
    chats: { type: 'string', default: '100000' },
    memory: { type: 'string', default: '200000' },
    sessions: { type: 'string', default: '2000' },
    numbers: { type: 'string', default: '500' },
  },
});
const parts = new Set(values.only.split(','));
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const say = (text: string) => {
  if (!values.json) console.log(text);
};

function table(rows: readonly object[]): void {
  if (!values.json) {
    console.table(
      rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name, rounded(value)])),
      ),
    );
  }
}

function rounded(value: unknown): unknown {
  if (typeof value !== 'number') return value;
  return value >= 100 ? Math.round(value) : Math.round(value * 100) / 100;
}

function ratio(name: string, value: number, aim: number): void {
  say(
    `${name}: ${value.toFixed(2)} (aim ${aim}${value < aim ? `, short by ${(aim - value).toFixed(2)}` : ''})`,
  );
}

function atMost(name: string, value: number, aim: number): void {
  say(
    `${name}: ${value.toFixed(2)} (aim at most ${aim}${value > aim ? `, over by ${(value - aim).toFixed(2)}` : ''})`,
  );
}

/** Compares a ratio with that of a quiet run, which it must not fall below. */
function notBelow(name: string, value: number, quiet: number): void {
  say(
    `${name}: ${value.toFixed(2)} (${quiet} in a quiet run${value < quiet ? `, lost ${(quiet - value).toFixed(2)}` : ''})`,
  );
}

function notAbove(name: string, value: number, quiet: number): void {
  say(
    `${name}: ${value.toFixed(2)} (${quiet} in a quiet run${value > quiet ? `, lost ${(value - quiet).toFixed(2)}` : ''})`,
  );
}

const result: Record<string, unknown> = {};
const databases = await startDatabases();
try {
  if (parts.has('accept')) {
    say(
      `(a) accepted texts per second at 64 connections, everything on; medians of ${rounds} rounds of ${seconds} s`,
    );
    const compared: Compared = await compareWithReferences(databases, { rounds, seconds });
    table(compared.rows);
    result.accept = compared.rows;
    result.accept_vs_framework = compared.ratioTo('framework');
    result.accept_vs_bare = compared.ratioTo('bare');
    result.accept_vs_orm = compared.ratioTo('orm');
    ratio('accept_vs_framework', compared.ratioTo('framework'), 0.45);
    notBelow('accept_vs_bare', compared.ratioTo('bare'), 0.79);
    notBelow('accept_vs_orm', compared.ratioTo('orm'), 2.7);
  }
  if (parts.has('chats')) {
    const chats = Number(values.chats);
    say(`\n(l) accept of a company with ${chats} chats, contacts and guards, against one without any`);
    const compared = await compareManyChatsWithNone(databases, { rounds, seconds, chats });
    table(compared.rows);
    result.accept_chats = compared.rows;
    result.accept_chats_vs_none = compared.ratioTo('no chats');
    ratio('accept_chats_vs_none', compared.ratioTo('no chats'), 0.95);
  }
  if (parts.has('e2e')) {
    const messages = Number(values.messages);
    say(
      `\n(b) messages per second, accept to webhook received; medians of ${rounds} rounds of ${messages} messages`,
    );
    const compared = await compareEndToEnd(databases, { rounds, messages, seconds });
    table(compared.rows);
    result.e2e = compared.rows;
    result.e2e_vs_plain = compared.vsPlain;
    result.e2e_rabbitmq_vs_plain = compared.rabbitmqVsPlain;
    result.e2e_vs_limit = compared.vsLimit;
    result.latency_vs_plain = compared.latencyVsPlain;
    result.latency_rabbitmq_vs_plain = compared.latencyRabbitmqVsPlain;
    notBelow('e2e_vs_plain', compared.vsPlain, 0.84);
    notBelow('e2e_rabbitmq_vs_plain', compared.rabbitmqVsPlain, 1.23);
    say(
      `e2e_vs_limit: ${compared.vsLimit.toFixed(2)} (0.31 in a quiet run; 1 is what the machine can do: ${(1 - compared.vsLimit).toFixed(2)} to go)`,
    );
    notAbove('latency_vs_plain', compared.latencyVsPlain, 3);
    notAbove('latency_rabbitmq_vs_plain', compared.latencyRabbitmqVsPlain, 3.1);
  }
  if (parts.has('instance')) {
    say('\n(i) messages per second of one instance, in order, by the round trip of its network');
    const rows = [];
    for (const roundTripMs of [10, 50]) {
      const measured = await measureOneInstance(databases, { rounds, roundTripMs, messages: 500 });
      rows.push({ roundTripMs, ...measured });
    }
    table(rows);
    result.instance = rows;
    result.one_instance_50ms = rows.at(-1)!.messagesPerSecond;
    notBelow('one_instance_50ms', rows.at(-1)!.messagesPerSecond, 600);
  }
  if (parts.has('fairness')) {
    say(
      `\n(q) milliseconds from the request to the webhook at 20 messages a second, beside another company; medians of ${rounds} rounds`,
    );
    const rows = await compareNeighbours(databases, { rounds });
    table(rows);
    result.fairness = rows;
    result.fairness_p99 = Math.max(...rows.map((row) => row.ratio));
    atMost('fairness_p99', Math.max(...rows.map((row) => row.ratio)), 1.5);
  }
  if (parts.has('whatsapp')) {
    const texts = Number(values.texts);
    say(
      `\n(n) WhatsApp, simulated: ours beside the library alone; medians of ${rounds} rounds of ${texts} texts`,
    );
    const compared = await compareWithLibrary(databases, { rounds, texts });
    table(compared.rows);
    result.whatsapp = compared.rows;
    result.whatsapp_sends_vs_library = compared.sendsVsLibrary;
    result.whatsapp_cpu_vs_library = compared.cpuVsLibrary;
    result.whatsapp_received_vs_library = compared.receivedVsLibrary;
    result.whatsapp_latency_vs_library = compared.latencyVsLibrary;
    result.whatsapp_commits = compared.commits;
    result.whatsapp_commits_in_bursts = compared.commitsInBursts;
    ratio('whatsapp_sends_vs_library', compared.sendsVsLibrary, 0.6);
    atMost('whatsapp_cpu_vs_library', compared.cpuVsLibrary, 2);
    ratio('whatsapp_received_vs_library', compared.receivedVsLibrary, 0.5);
    atMost('whatsapp_latency_vs_library', compared.latencyVsLibrary, 1.5);
    atMost('whatsapp_commits', compared.commits, 4);
    atMost('whatsapp_commits_in_bursts', compared.commitsInBursts, 1);
  }
  if (parts.has('numbers')) {
    const numbers = Number(values.numbers);
    say(`\n(p) ${numbers} WhatsApp numbers, simulated, in one process: memory, and CPU at 50 texts a second`);
    const measured = await measureManyNumbers(databases, numbers);
    table([measured]);
    result.numbers = measured;
  }
  if (parts.has('rows')) {
    const rows = Number(values.rows);
    say(`\n(c) accept with ${rows} message rows there, against an empty table; then reads of both`);
    const { accepts, lists } = await compareFullWithEmpty(databases, { rounds, seconds, rows });
    table(accepts.rows);
    table(lists);
    result.rows = { accepts: accepts.rows, accept_vs_empty: accepts.ratioTo('empty'), lists };
    ratio('accept_full_vs_empty', accepts.ratioTo('empty'), 0.95);
    atMost('list_full_vs_empty', Math.max(...lists.map((list) => list.ratio)), 1.1);
  }
  if (parts.has('cpu')) {
    say('\n(d) CPU microseconds per accepted message, by part');
    const cpu = await measureCpu(databases, seconds);
    table([
      ...cpu.parts,
      { part: 'API process, measured without its parts', us: cpu.api },
      { part: 'PostgreSQL', us: cpu.postgres },
    ]);
    result.cpu_us = {
      api: cpu.api,
      postgres: cpu.postgres,
      parts: Object.fromEntries(cpu.parts.map(({ part, us }) => [part, us])),
    };
  }
  if (parts.has('pipeline')) {
    say(
      '\n(j) CPU microseconds per message from the request to its webhook, one process, by part and statement',
    );
    const cpu = await measureCpuOfPipeline(Number(values.messages));
    table([
      ...cpu.parts,
      { part: 'the process, measured without its parts', us: cpu.api },
      { part: 'PostgreSQL', us: cpu.postgres },
    ]);
    table(cpu.statements);
    result.pipeline_us = {
      node: cpu.api,
      postgres: cpu.postgres,
      parts: cpu.parts,
      statements: cpu.statements,
    };
  }
  if (parts.has('webhooks')) {
    say(`\n(e) webhook deliveries beside a bare POST loop, 64 at a time; medians of ${rounds} rounds`);
    const compared = await benchWebhookDeliveries(await databases.create('webhooks', 'posthorn'), {
      rounds,
      postgresPid: databases.server.pid(),
    });
    table(compared.rows);
    result.webhooks = compared.rows;
    result.deliveries_vs_bare = compared.ratio;
    notBelow('deliveries_vs_bare', compared.ratio, 0.39);
  }
  if (parts.has('streams')) {
    say('\n(f) events per second to 2,000 SSE readers of one process beside a raw write loop');
    const rows = await benchSseReaders(await databases.create('streams', 'posthorn'));
    table(rows);
    result.streams = rows;
  }
  if (parts.has('media')) {
    say('\n(g) accepted images by media_id per second, beside accepted texts of the same server');
    const compared = await compareImagesWithTexts(databases, { rounds, seconds });
    table(compared.rows);
    result.accept_media = compared.rows;
    result.accept_image_vs_text = compared.ratioTo('text');
    // An image may take at most 1.3 times the time of a text.
    ratio('accept_image_vs_text', compared.ratioTo('text'), 0.77);
  }
  if (parts.has('http')) {
    say('\n(h) the same 202 without a database on each HTTP stack, 64 connections');
    const rows = await compareStacks({ rounds, seconds });
    table(rows);
    result.http = rows;
  }
  if (parts.has('lists')) {
    const chats = Number(values.chats);
    say(
      `\n(k) milliseconds of a page of 50, by its depth: ${chats} chats and contacts, ${chats * 10} messages`,
    );
    const rows = await measurePages(databases, { chats, rounds });
    table(rows);
    result.lists = rows;
    result.page_vs_first = Math.max(...rows.map((row) => row.ratio));
    atMost('page_vs_first', Math.max(...rows.map((row) => row.ratio)), 1.5);
  }
  if (parts.has('memory')) {
    const messages = Number(values.memory);
    say(`\n(m) heap of one process after a forced collection, over ${messages} messages end to end`);
    const rows = await measureHeapGrowth(databases, messages);
    table(rows);
    result.memory = rows;
  }
  if (parts.has('costs')) {
    const messages = Number(values.messages);
    const load = loadavg()[0]!.toFixed(1);
    say(`\n(o) costs of one unit, over ${messages} messages; load of the machine before: ${load}`);
    const costs = await measureUnitCosts(databases, { messages, sessions: Number(values.sessions) });
    table(costs.units);
    say('of an idle session: memory of the worker, and in each second');
    table([costs.idle]);
    result.costs = costs;
  }
  if (values.json) console.log(JSON.stringify(result));
} finally {
  await databases.stop();
}
