import type { Context } from './context.ts';
import { UsageError } from './fault.ts';
import { didYouMean } from './similar.ts';

/** One flag or argument: how it is written, and what comes of it. */
export interface Param<T> {
  help: string;
  /** What stands in the help for the value, e.g. `phone`; null for a switch. */
  value: string | null;
  isRequired: boolean;
  isList: boolean;
  /** What may be given, where that is a list: completions offer it. */
  values?: readonly string[];
  parse(text: string): T;
}

type Params = Readonly<Record<string, Param<unknown>>>;
type Values<P extends Params> = { [K in keyof P]: P[K] extends Param<infer T> ? T : never };

/** A command: its words, flags and help, and the function that does it, which knows no command line. */
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
  /** What it destroys, as a sentence. It then asks first, or wants `--yes`. */
  destroys?: string;
  /** Runs when its group is called without one of its words. */
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

/** One of the given words. A wrong one is refused by `name`, where that is not how the value is written. */
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
