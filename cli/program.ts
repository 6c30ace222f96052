import { Argument, Command as Commander, type CommanderError, InvalidArgumentError, Option } from 'commander';
import type { Command, Param } from './command.ts';
import { commands, groups, sectionOf } from './commands.ts';
import type { CompletionNode } from './completion/tree.ts';
import type { Context, GlobalOptions } from './context.ts';
import { UsageError } from './fault.ts';
import { didYouMean } from './similar.ts';

/** Turns the definitions into a command line: the only file that knows the library for that. */
export function createProgram(deps: {
  version: string;
  contextOf: (options: GlobalOptions, commandTree: () => CompletionNode) => Context | Promise<Context>;
}): Commander {
  const program = new Commander('msgctl')
    .description('The command line of Posthorn, a messaging platform.')
    .version(deps.version)
    .option('--url <url>', 'the messaging service (POSTHORN_URL)')
    .option('--key <key>', 'the API key (POSTHORN_API_KEY)')
    .option('--instance <id or name>', 'the instance to use (POSTHORN_INSTANCE)')
    .option('--billing-url <url>', 'the billing service (POSTHORN_BILLING_URL)')
    .option('--sandbox-url <url>', 'the sandbox network (POSTHORN_SANDBOX_URL)')
    .option('--profile <name>', 'the profile whose keys are used (POSTHORN_PROFILE)')
    .option('--yes', 'do not ask before something is destroyed')
    .option('--json', 'print JSON')
    .option('--jq <filter>', 'print the JSON through this jq filter')
    .option('--csv', 'print lists as CSV')
    .showHelpAfterError(false)
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    // The library throws errors, and main prints them once.
    .configureOutput({ outputError: () => undefined });
  const contextOf = () => deps.contextOf(program.opts<GlobalOptions>(), () => treeOf(program));
  for (const command of commands) addCommand(program, command, contextOf);
  // The library lists sections in the order of their first commands.
  for (const command of program.commands) command.helpGroup(sectionOf(command.name()));
  addHelp(program);
  return program;
}

/** `help send text` shows that command; the library's own takes one word alone. */
function addHelp(program: Commander) {
  program
    .helpCommand(false)
    .command('help')
    .helpGroup(sectionOf('help'))
    .summary('Show the help of a command, e.g. help send text')
    .description('Show the help of a command, e.g. help send text.')
    .argument('[command...]', 'its words')
    .action((words: string[]) => {
      let at = program;
      for (const word of words) {
        const found = at.commands.find((command) => command.name() === word);
        const names = at.commands.map((command) => command.name());
        if (!found) throw new UsageError(`there is no command ${words.join(' ')}${didYouMean(word, names)}`);
        at = found;
      }
      at.help();
    });
}

function addCommand(program: Commander, command: Command, contextOf: () => Context | Promise<Context>) {
  const words = command.name.split(' ');
  const last = words.pop() as string;
  let parent = program;
  for (const [at, word] of words.entries()) parent = groupOf(parent, words.slice(0, at + 1).join(' '), word);
  const leaf = parent
    .command(last, { isDefault: command.isDefault ?? false })
    .summary(command.summary)
    .description([`${command.summary}.`, unwrapped(command.details ?? '')].filter(Boolean).join('\n\n'))
    .allowExcessArguments(false);
  const args = Object.entries(command.args ?? {});
  if (args.some(([, param]) => param.value === 'fields')) leaf.exitOverride(sayHowFieldsAreWritten);
  for (const [name, param] of args) leaf.addArgument(argumentOf(name, param));
  for (const [name, param] of Object.entries(command.flags ?? {})) leaf.addOption(optionOf(name, param));
  leaf.action(async (...given: unknown[]) => {
    // Checked here, since the library would report a missing flag before a misspelt one.
    for (const [name, param] of Object.entries(command.flags ?? {}))
      if (param.isRequired && leaf.opts()[name] === undefined)
        throw new UsageError(`required option '${flagOf(name)} <${param.value}>' not specified`);
    const input = Object.fromEntries(args.map(([name, param], at) => [name, given[at] ?? emptyOf(param)]));
    const flags = Object.fromEntries(
      Object.entries(command.flags ?? {}).map(([name, param]) => [name, leaf.opts()[name] ?? emptyOf(param)]),
    );
    const context = await contextOf();
    if (command.destroys) await context.confirm(command.destroys);
    await command.run(context, { ...input, ...flags });
  });
}

/**
 * The library wraps help to the width of the terminal, and line breaks of our sources would end its lines halfway. Examples, and
 * lines like `Fields: name`, stay lines of their own.
 */
function unwrapped(details: string): string {
  return details.replace(/(?<!\n)\n(?!\n|E\.g\. |\w+: )/g, ' ');
}

/** Explains that a field of the body, such as `--caption`, is an argument and no flag. */
function sayHowFieldsAreWritten(error: CommanderError): never {
  const [, name] = /^error: unknown option '--([\w-]+)'$/.exec(error.message) ?? [];
  if (error.code === 'commander.unknownOption' && name !== undefined)
    error.message += `; fields are written ${name.replaceAll('-', '_')}=...`;
  throw error;
}

/** The commands, flags and words that completions offer; only the first argument has words. */
function treeOf(command: Commander, everywhere: readonly Option[] = command.options): CompletionNode {
  return {
    name: command.name(),
    summary: command.summary() || command.description(),
    commands: command.commands.map((child) => treeOf(child, everywhere)),
    flags: [...new Set([...command.options, ...everywhere])].flatMap(({ long, description }) =>
      long ? [{ name: long, summary: description }] : [],
    ),
    words: [...(command.registeredArguments[0]?.argChoices ?? [])],
  };
}

function groupOf(parent: Commander, name: string, word: string): Commander {
  const found = parent.commands.find((command) => command.name() === word);
  return found ?? parent.command(word).description(groups[name] ?? '');
}

function argumentOf(name: string, param: Param<unknown>): Argument {
  const argument = new Argument(written(name, param), param.help);
  // The choices come first: they set a parser, which ours then replaces.
  if (param.values) argument.choices(param.values);
  return argument.argParser(parserOf(param));
}

function optionOf(name: string, param: Param<unknown>): Option {
  const flag = flagOf(name);
  const help = param.isRequired ? `${param.help} (required)` : param.help;
  const option = new Option(param.value === null ? flag : `${flag} <${param.value}>`, help);
  return param.value === null ? option : option.argParser(parserOf(param));
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function written(name: string, param: Param<unknown>): string {
  const inside = `${param.value ?? name}${param.isList ? '...' : ''}`;
  return param.isRequired ? `<${inside}>` : `[${inside}]`;
}

/** Makes the parser of a parameter; a list collects repeated values. */
function parserOf(param: Param<unknown>): (given: string, before: unknown) => unknown {
  return (given, before) => {
    try {
      const value = param.parse(given);
      return param.isList ? [...((before as unknown[] | undefined) ?? []), ...(value as unknown[])] : value;
    } catch (error) {
      if (error instanceof UsageError) throw new InvalidArgumentError(error.message);
      throw error;
    }
  };
}

function emptyOf(param: Param<unknown>): unknown {
  if (param.isList) return [];
  return param.value === null ? false : undefined;
}
