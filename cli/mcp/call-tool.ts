import { randomUUID } from 'node:crypto';
import { PosthornError } from '@posthorn/sdk/index.ts';
import type { Context } from '../context.ts';
import { callEndpoint } from '../endpoints/call-endpoint.ts';
import type { Endpoint } from '../endpoints/endpoint.ts';
import { fillPath } from '../endpoints/fill-path.ts';
import { UsageError } from '../fault.ts';
import { didYouMean } from '../similar.ts';
import { nextSteps } from './next-steps.ts';
import type { Tool } from './tool.ts';

/** What a tool answers: the data of the service, and what may be done with it. */
export interface ToolAnswer {
  isError: boolean;
  data: Record<string, unknown>;
}

type Arguments = Readonly<Record<string, unknown>>;

/** Calls the endpoint of a tool. What the service refuses is an answer too; nothing is thrown for it. */
export async function callTool(
  context: Context,
  { tool, endpoint }: { tool: Tool; endpoint: Endpoint },
  args: Arguments,
): Promise<ToolAnswer> {
  try {
    checkArguments(tool, args);
    const idempotencyKey = endpoint.keyed ? String(args.idempotency_key ?? randomUUID()) : undefined;
    const answer = await callEndpoint(context, endpoint, {
      path: await pathOf(context, endpoint, args),
      query: pick(args, tool.query),
      body: endpoint.body === null ? undefined : pick(args, tool.body),
      idempotencyKey,
    });
    return {
      isError: false,
      data: { result: answer ?? { done: true }, next_steps: nextSteps(tool, answer) },
    };
  } catch (error) {
    return refused(error);
  }
}

/** What went wrong, and whether trying again can help. */
export function refused(error: unknown): ToolAnswer {
  if (error instanceof PosthornError) {
    const { code, message, status, traceId, retryAfterMs, idempotencyKey, fields } = error;
    const details = { ...fields, code, message, status, trace_id: traceId, retry_after_ms: retryAfterMs };
    const again =
      idempotencyKey === null ? [] : [`To try the same send again, pass idempotency_key ${idempotencyKey}.`];
    return { isError: true, data: { error: details, next_steps: again } };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { isError: true, data: { error: { code: 'FAILED', message }, next_steps: [] } };
}

function checkArguments(tool: Tool, args: Arguments): void {
  const known = Object.keys(tool.inputSchema.properties);
  for (const name of Object.keys(args))
    if (!known.includes(name)) throw new UsageError(`there is no argument ${name}${didYouMean(name, known)}`);
  const missing = tool.inputSchema.required.filter((name) => args[name] === undefined);
  if (missing.length > 0) throw new UsageError(`missing: ${missing.join(', ')}`);
}

async function pathOf(context: Context, endpoint: Endpoint, args: Arguments): Promise<string> {
  const given = typeof args.instanceId === 'string' ? args.instanceId : undefined;
  const instanceId = endpoint.path.includes(':instanceId') ? await context.instanceId(given) : '';
  return fillPath(endpoint.path, { ...args, instanceId });
}

function pick(args: Arguments, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.flatMap((name) => (args[name] === undefined ? [] : [[name, args[name]]])));
}
