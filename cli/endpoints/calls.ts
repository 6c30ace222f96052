/** Commands that call one endpoint and show its answer: each is a line in a table of `sections/`. */
import {
  type Command,
  defineCommand,
  integer,
  many,
  oneOf,
  type Param,
  required,
  text,
  toggle,
} from '../command.ts';
import type { Context } from '../context.ts';
import { UsageError } from '../fault.ts';
import { answered, pageOf, table } from '../format.ts';
import { bodyOf } from './body-of.ts';
import { callEndpoint, endpointNamed } from './call-endpoint.ts';
import type { AnswerOf, ColumnOf, EndpointName, FieldsOf } from './contract-names.ts';
import type { Endpoint, Field } from './endpoint.ts';
import { fillPath } from './fill-path.ts';

/** Parameters by their names in the contract, whether they are in the path, the query or the body. */
type ParamsOf<N extends EndpointName> = {
  [F in keyof FieldsOf<N>]?: Param<FieldsOf<N>[F] | undefined> & {
    /** The name of the flag, if it differs from that of the field. */
    flag?: string;
  };
};

/** The options of a line, besides the endpoint. */
interface Said<N extends EndpointName> extends Pick<Command, 'details' | 'destroys' | 'isDefault'> {
  /** Without it, the summary, the arguments and the flags follow from the contract. */
  summary?: string;
  args?: ParamsOf<N>;
  flags?: ParamsOf<N>;
  /** Columns of a list, in this order. */
  columns?: readonly ColumnOf<N>[];
  /** Printed in place of an empty list. */
  nothing?: string;
  /** The answer for people; default its fields. */
  shows?(answer: AnswerOf<N>): string;
  /** For an endpoint without an answer body: the output for programs, and the text for people. */
  done?(input: FieldsOf<N>): readonly [data: object, human: string];
}

/** `--page` and `--limit`. */
export function pages(defaultLimit: number) {
  return { page: integer('n', 'page, default 1'), limit: integer('n', `how many, default ${defaultLimit}`) };
}

/** The command of these words, which calls the endpoint. */
export function calls<N extends EndpointName>(name: string, called: N, said: Said<N> = {}): Command {
  const endpoint = endpointNamed(called);
  const {
    summary,
    details,
    args = {},
    flags = {},
  } = said.summary === undefined ? saidByContract(endpoint) : said;
  const flagOfField = flags as Readonly<Record<string, Param<unknown> & { flag?: string }>>;
  const inputName = (field: string) => (field in args ? field : camel(flagOfField[field]?.flag ?? field));
  const inBody = Object.keys({ ...said.args, ...said.flags }).filter((field) => isInBody(endpoint, field));
  return defineCommand({
    name,
    endpoints: [called],
    isCall: true,
    summary: summary as string,
    ...(details === undefined ? {} : { details }),
    ...(said.destroys === undefined ? {} : { destroys: said.destroys }),
    ...(said.isDefault ? { isDefault: true } : {}),
    args: args as Record<string, Param<unknown>>,
    flags: Object.fromEntries(Object.entries(flagOfField).map(([field, param]) => [inputName(field), param])),
    async run(context, input: Record<string, unknown>) {
      const path = await pathOf(context, endpoint, input);
      const query = await queryOf(context, endpoint, (field) => input[inputName(field)]);
      const fields = inBody.map((field) => [field, input[inputName(field)]]);
      const answer = await callEndpoint(context, endpoint, {
        path,
        query,
        body: { ...Object.fromEntries(fields), ...(await bodyOf(context, endpoint, input)) },
        idempotencyKey: input.idempotencyKey as string | undefined,
        force: input.force as boolean | undefined,
      });
      const [data, human] = said.done?.(input as FieldsOf<N>) ?? [
        answer ?? { done: true },
        humanOf(said, answer),
      ];
      context.out.show(data, human);
    },
  });
}

/** Makes a command of the contract's description of an endpoint. Its body is given as a whole or by `name=value`. */
function saidByContract(endpoint: Endpoint): Pick<Command, 'summary' | 'details' | 'args' | 'flags'> {
  const { method, path, summary, query, body, keyed, takesFile } = endpoint;
  const takes = body?.map(({ name, isRequired }) => (isRequired ? name : `[${name}]`)).join(' ');
  const params = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
  const inQuery = query.filter(({ name }) => name !== 'instance_id');
  return {
    summary,
    details: `${method} ${path}${takes ? `\nFields: ${takes}` : ''}`,
    args: {
      ...Object.fromEntries(
        params
          .filter((name) => name !== 'instanceId')
          .map((name) => [name, required(text(name, 'of what is meant'))]),
      ),
      ...(body && { fields: many('fields', 'fields of the body, name=value or name:=JSON') }),
    },
    flags: {
      ...Object.fromEntries(inQuery.map((field) => [field.name, paramOf(field)])),
      ...(keyed && {
        idempotencyKey: text('key', 'repeating a command with the same key does nothing twice'),
        force: toggle('bypass passive mode and the anti-spam guard'),
      }),
      ...(body && { body: text('json', 'the whole body; - reads it from a pipe') }),
      ...(takesFile && { file: text('path', 'the file to send; - reads it from a pipe') }),
    },
  };
}

function paramOf({ name, help, isList, values }: Field): Param<unknown> {
  const value = kebab(name);
  if (values) return oneOf(value, values, help);
  return isList ? many(value, help) : text(value, help);
}

function isInBody({ path, query, body }: Endpoint, field: string): boolean {
  const isElsewhere = path.includes(`:${field}`) || query.some(({ name }) => name === field);
  return !isElsewhere && (body ?? []).some(({ name }) => name === field);
}

async function pathOf(
  context: Context,
  { path }: Endpoint,
  input: Readonly<Record<string, unknown>>,
): Promise<string> {
  if (!path.includes(':instanceId')) return fillPath(path, input);
  const named = input.instanceId as string | undefined;
  return fillPath(path, { ...input, instanceId: await context.instanceId(named) });
}

async function queryOf(
  context: Context,
  { query }: Endpoint,
  inputOf: (field: string) => unknown,
): Promise<Record<string, unknown>> {
  const given: Record<string, unknown> = {};
  for (const { name, isRequired } of query) {
    const named = () => (isRequired ? context.instanceId() : context.namedInstanceId());
    const value = name === 'instance_id' ? await named() : inputOf(name);
    if (isRequired && value === undefined) throw new UsageError(`--${kebab(name)} is required`);
    if (!Array.isArray(value) || value.length > 0) given[name] = value;
  }
  return given;
}

function humanOf<N extends EndpointName>(
  { shows, columns, nothing = '', flags }: Said<N>,
  answer: unknown,
): string {
  if (shows) return shows(answer as AnswerOf<N>);
  if (!columns) return answered(answer);
  const list = answer as Parameters<typeof pageOf<Record<string, unknown>>>[0] & {
    logs?: Record<string, unknown>[];
  };
  // A command without `--page` does not mention further pages.
  if (flags && 'page' in flags) return pageOf(list, columns, nothing);
  return table(list.data ?? list.logs ?? [], columns, nothing);
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

function kebab(name: string): string {
  return name.replaceAll('_', '-');
}
