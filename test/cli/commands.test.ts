import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { commands, groups } from '@posthorn/cli/commands.ts';
import { createProgram } from '@posthorn/cli/program.ts';
import { documents, readText } from '../docs/rules.ts';
import { projectRoot } from '../support/process.ts';

const names = commands.map(({ name }) => name);

function leavesOf(command: ReturnType<typeof createProgram>): (typeof command)[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

describe('the commands', () => {
  test('have names of their own, and their groups a description', () => {
    assert.equal(new Set(names).size, names.length);
    const wanted = names.flatMap((name) => {
      const words = name.split(' ').slice(0, -1);
      return words.map((_, at) => words.slice(0, at + 1).join(' '));
    });
    assert.deepEqual([...new Set(wanted)].sort(), Object.keys(groups).sort());
  });

  test('have a word of help for each flag and argument', () => {
    for (const { name, summary, args, flags } of commands) {
      assert.match(summary, /^[A-Z].*[^.]$/, name);
      for (const [at, param] of Object.entries({ ...args, ...flags })) assert.ok(param.help, `${name} ${at}`);
    }
  });

  test('can all be asked for help, with no flag that hides one of those that go everywhere', async () => {
    for (const name of names) {
      const program = createProgram({ version: '0', contextOf: () => assert.fail('it ran') });
      let shown = '';
      const quiet = (command: typeof program) => {
        command.exitOverride().configureOutput({ writeOut: (text) => (shown += text) });
        command.commands.forEach(quiet);
      };
      quiet(program);
      await assert.rejects(program.parseAsync([...name.split(' '), '--help'], { from: 'user' }), {
        code: 'commander.helpDisplayed',
      });
      const [own, everywhere] = shown.split('Global Options:');
      assert.ok(everywhere?.includes('--json'), name);
      assert.doesNotMatch(
        own ?? '',
        /^ +(-\w, )?--(url|key|instance|sandbox-url|billing-url|json|version)\b/m,
        name,
      );
    }
  });

  test('are helped with paragraphs that fill their lines, and no default that says nothing', () => {
    for (const command of leavesOf(createProgram({ version: '0', contextOf: () => assert.fail('it ran') }))) {
      assert.doesNotMatch(command.description(), /^.{95,}\n(?!\n|E\.g\. )/m, command.name());
      assert.doesNotMatch(command.helpInformation(), /default: \[\]/, command.name());
    }
  });

  test('are all in the README', () => {
    const readme = readFileSync(path.join(projectRoot, 'cli/README.md'), 'utf8');
    const rows = readme.split('## Commands')[1]?.split('\n## ')[0] ?? '';
    const listed = [...rows.matchAll(/`([a-z][^`]*)`/g)].flatMap(([, cell = '']) => {
      const [first = '', ...more] = cell.split(', ');
      const group = first.split(' ').slice(0, -1);
      return [first, ...more.map((last) => [...group, last].join(' '))];
    });
    for (const name of names) assert.ok(listed.includes(name), `${name} is not in the table`);
  });

  test('are written in the documents as they are taken', async () => {
    const shown = documents().flatMap((file) => callsIn(readText(file)).map((words) => ({ file, words })));
    assert.ok(shown.length > 50);
    const program = createProgram({ version: '0', contextOf: () => Promise.reject(new Error('it ran')) });
    const quiet = (command: typeof program) => {
      command.exitOverride().configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
      command.commands.forEach(quiet);
    };
    quiet(program);
    for (const { file, words } of shown) {
      const told = await program.parseAsync(words, { from: 'user' }).then(() => '', String);
      assert.match(told, /it ran|outputHelp/, `${file}: msgctl ${words.join(' ')}`);
    }
  });
});

/** The words behind each `msgctl` in the blocks of a document that are for a shell. */
function callsIn(markdown: string): string[][] {
  const script = [...markdown.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)]
    .map(([, language = '', block]) => (['', 'sh'].includes(language) ? block : ''))
    .join('')
    .replaceAll(/\\\n\s*/g, '');
  const nested = [...script.matchAll(/"\$\(([^"]*)\)"/g)].map(([, call = '']) => call);
  return [...script.replaceAll(/"\$(?:\w+|\([^"]*\))"/g, '1').split('\n'), ...nested].flatMap((line) => {
    const [, call] = /\bmsgctl (.*)/.exec(line) ?? [];
    if (call === undefined) return [];
    const words = call.match(/(?:"[^"]*"|'[^']*'|[^\s"'])+/g) ?? [];
    const end = words.findIndex((word) => /^[|>#&;]/.test(word));
    return [words.slice(0, end < 0 ? undefined : end).map((word) => word.replaceAll(/["']/g, ''))];
  });
}
