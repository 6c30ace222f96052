import { randomUUID } from 'node:crypto';
import { PosthornError } from '@posthorn/sdk/index.ts';
import type { Context } from '../context.ts';
import { callEndpoint } from '../endpoints/call-endpoint.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { fillPath } from '../endpoints/fill-path.ts';
import { UsageError } from '../fault.ts';
import { didYouMean } from '../similar.ts';
import { nextSteps } from './next-steps.ts';
import { argumentOf, type Tool } from './tool.ts';

/** The answer of a tool: the data of the service, and the possible next steps. */
export interface ToolAnswer {
  isError: boolean;
  data: Record<string, unknown>;
}

/** A tool with the endpoint that it calls. */
export interface Offered {
  tool: Tool;
  endpoint: Endpoint;
}

const MASK = '***';

type Arguments = Readonly<Record<string, unknown>>;

/** Calls the endpoint of a tool. A refusal of the service is an answer too, not an exception. */
export async function callTool(
  context: Context,
  { tool, endpoint }: Offered,
  args: Arguments,
): Promise<ToolAnswer> {
  try {
    checkArguments(tool, args);
    const idempotencyKey = endpoint.keyed ? String(args.idempotency_key || randomUUID()) : undefined;
    const answer = await callEndpoint(context, endpoint, {
      path: await pathOf(context, endpoint, args),
      query: pick(args, tool.query),
      body: endpoint.body === null ? undefined : pick(args, tool.body),
      idempotencyKey,
    });
    const shown = mask(answer ?? { done: true }, tool.masked);
    return { isError: false, data: { result: shown, next_steps: nextSteps(tool, answer, args) } };
  } catch (error) {
    return refused(error);
  }
}

/** The answer for an error, which says whether trying again can help. */
export function refused(error: unknown): ToolAnswer {
  if (error instanceof PosthornError) {
    const { code, message, status, traceId, retryAfterMs, idempotencyKey, fields } = error;
    const details = { ...fields, code, message, status, trace_id: traceId, retry_after_ms: retryAfterMs };
    const again =
      idempotencyKey !== null && mayPass(status)
        ? [`To try the same send again, pass idempotency_key ${idempotencyKey}.`]
        : [];
    return { isError: true, data: { error: details, next_steps: again } };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { isError: true, data: { error: { code: 'FAILED', message }, next_steps: [] } };
}

/** True when the same request may succeed later, and false when the service refuses it as such. */
function mayPass(status: number): boolean {
  return status < 400 || status >= 500 || [408, 425, 429].includes(status);
}

/** Throws UsageError for arguments that the tool does not have, and for a name that is no text. */
export function checkArguments(
  { inputSchema, path = [], masked = [] }: Pick<Tool, 'inputSchema'> & Partial<Tool>,
  args: Arguments,
): void {
  const known = Object.keys(inputSchema.properties);
  for (const name of Object.keys(args))
    if (!known.includes(name)) throw new UsageError(`there is no argument ${name}${didYouMean(name, known)}`);
  const missing = inputSchema.required.filter((name) => args[name] === undefined);
  if (missing.length > 0) throw new UsageError(`missing: ${missing.join(', ')}`);
  // The service judges the rest. These leave out what would name something else: `String({})` is a key, too.
  for (const name of [...path.map(argumentOf), 'instance_id', 'idempotency_key'])
    if (!['string', 'number'].includes(typeof (args[name] ?? '')))
      throw new UsageError(`${name} must be a string`);
  for (const name of masked)
    if (JSON.stringify(args[name] ?? null).includes(`"${MASK}"`))
      throw new UsageError(
        `${name}: ${MASK} stands for a value that is not shown; leave ${name} out to keep it`,
      );
}

/** The id of the instance that the arguments name, else of the one that the server uses. */
export function instanceOf(context: Context, { instance_id: named }: Arguments): Promise<string> {
  // Models fill in what they could leave out, with an empty text or null.
  return context.instanceId(
    named === undefined || named === null || named === '' ? undefined : String(named),
  );
}

/** The same answer, with a mask for the values of these fields. */
function mask(value: unknown, fields: readonly string[], isSecret = false): unknown {
  if (isSecret && typeof value === 'string') return value === '' ? '' : MASK;
  if (Array.isArray(value)) return value.map((item) => mask(item, fields, isSecret));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [
      name,
      mask(part, fields, isSecret || fields.includes(name)),
    ]),
  );
}

async function pathOf(context: Context, endpoint: Endpoint, args: Arguments): Promise<string> {
  const path = endpoint.path.replace(/:\w+/g, argumentOf);
  const instanceId = path.includes(':instance_id') ? await instanceOf(context, args) : '';
  return fillPath(path, { ...args, instance_id: instanceId });
}

function pick(args: Arguments, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]])));
}
