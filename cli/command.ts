import type { Context } from './context.ts';
import { UsageError } from './fault.ts';
import { didYouMean } from './similar.ts';

/** One flag or argument: its form on the command line and its parsed value. */
export interface Param<T> {
  help: string;
  /** Placeholder of the value in the help, e.g. `phone`; null for a switch. */
  value: string | null;
  isRequired: boolean;
  isList: boolean;
  /** The allowed values if they are a list; completions offer them. */
  values?: readonly string[];
  parse(text: string): T;
}

type Params = Readonly<Record<string, Param<unknown>>>;
type Values<P extends Params> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

/** A command: its words, flags and help, and the function that runs it, which knows nothing of the command line. */
export interface Command<A extends Params = Params, F extends Params = Params> {
  /** e.g. `webhooks create`. */
  name: string;
  summary: string;
  /** Further lines of its help. */
  details?: string;
  /** By position, in this order. */
  args?: A;
  /** `quotedId` is written `--quoted-id`. */
  flags?: F;
  /** The endpoints that it calls, by their names in the contract. */
  endpoints?: readonly string[];
  /** A sentence that says what the command destroys. The command then asks first, or requires `--yes`. */
  destroys?: string;
  /** Runs when the group is called without a subcommand. */
  isDefault?: boolean;
  /** It calls its one endpoint, shows the answer, and does nothing else. */
  isCall?: boolean;
  run(context: Context, input: Values<A> & Values<F>): Promise<void>;
}

export function defineCommand<
  A extends Params = Record<never, never>,
  F extends Params = Record<never, never>,
>(command: Command<A, F>): Command {
  return command as unknown as Command;
}

export function text(value: string, help: string): Param<string | undefined> {
  return { help, value, isRequired: false, isList: false, parse: (given) => given };
}

/** A whole number from `min` to `max`. */
export function integer(
  value: string,
  help: string,
  { min = 1, max = Number.MAX_SAFE_INTEGER } = {},
): Param<number | undefined> {
  return {
    ...text(value, help),
    parse(given) {
      const number = /^-?\d+$/.test(given) ? Number(given) : Number.NaN;
      if (number >= min && number <= max) return number;
      throw new UsageError(`${value} must be a whole number from ${min} to ${max}`);
    },
  };
}

/** One of the given words. The error for a wrong one names `name`, if that differs from the value's placeholder. */
export function oneOf<const V extends string>(
  value: string,
  values: readonly V[],
  help: string,
  name = value,
): Param<V | undefined> {
  return {
    ...text(value, help),
    values,
    parse(given) {
      const found = values.find((each) => each === given);
      if (found !== undefined) return found;
      throw new UsageError(`${name} must be one of ${values.join(', ')}${didYouMean(given, values)}`);
    },
  };
}

/** May be given several times, or with commas between. */
export function list(value: string, help: string): Param<string[]> {
  return { help, value, isRequired: false, isList: true, parse: splitList };
}

/** May be given several times; commas are part of the value. */
export function many(value: string, help: string): Param<string[]> {
  return { help, value, isRequired: false, isList: true, parse: (given) => [given] };
}

export function toggle(help: string): Param<boolean> {
  return { help, value: null, isRequired: false, isList: false, parse: () => true };
}

export function required<T>(param: Param<T | undefined>): Param<T> {
  return { ...param, isRequired: true } as Param<T>;
}

function splitList(given: string): string[] {
  return given
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}
