import type { Operation } from '@posthorn/contract/message-types.ts';
import { sendRules } from '@posthorn/core/content/rules.ts';
import type { UploadedFile } from '@posthorn/core/media/media-port.ts';
import { DatabaseWait } from '@posthorn/core/platform/database/in-time.ts';
import { type SendDeps, send } from '@posthorn/core/sending/send.ts';
import type { AcceptedSend } from '@posthorn/core/sending/send-command.ts';
import type { HandlerInput } from '../http/call.ts';

/** The parts of an HTTP request that the handler of any send reads. */
export interface SendHandlerInput
  extends Pick<HandlerInput, 'principal' | 'traceId' | 'headers' | 'signal' | 'gateMs'> {
  readonly params: { readonly instanceId: string };
  readonly body: object;
  /** The file of a multipart form, or `media_base64`. */
  readonly file?: UploadedFile | undefined;
}

const REPLAYED = { 'idempotent-replayed': 'true' };

/** The 202 of an operation that creates a message (SND-3, SND-6). `more`: fields from the path. */
export function sendHandler<Params>(
  deps: SendDeps,
  operation: Operation,
  more?: (params: Params) => Record<string, string>,
) {
  return async (input: SendHandlerInput & { readonly params: Params }) => {
    const { accepted, idempotencyKey } = await sendAs(deps, input, operation, more?.(input.params));
    return {
      status: 202 as const,
      body: {
        status: accepted.status,
        message_id: accepted.messageId,
        task_id: accepted.taskId,
        idempotency_key: idempotencyKey,
      },
      headers: replayHeaders(accepted),
    };
  };
}

/** The 202 of delete and edit, which create no message. */
export function changeHandler<Params>(
  deps: SendDeps,
  operation: 'delete' | 'edit',
  more: (params: Params) => Record<string, string>,
) {
  return async (input: SendHandlerInput & { readonly params: Params }) => {
    const { accepted, idempotencyKey } = await sendAs(deps, input, operation, more(input.params));
    return {
      status: 202 as const,
      body: { status: accepted.status, task_id: accepted.taskId, idempotency_key: idempotencyKey },
      headers: replayHeaders(accepted),
    };
  };
}

async function sendAs(
  deps: SendDeps,
  input: SendHandlerInput,
  operation: Operation,
  more: Record<string, string> | undefined,
): Promise<{ accepted: AcceptedSend; idempotencyKey: string }> {
  const body = input.body as Record<string, unknown>;
  const idempotencyKey = keyOf(input);
  const accepted = await send(deps, {
    principal: input.principal,
    instanceId: input.params.instanceId,
    operation,
    idempotencyKey,
    force: isForced(input),
    body: more ? { ...body, ...more } : body,
    file: input.file,
    // Reading it creates a controller, so only operations that fetch media do.
    signal: sendRules[operation].media ? input.signal : undefined,
    wait: new DatabaseWait(input.gateMs),
    traceId: input.traceId,
  });
  return { accepted, idempotencyKey };
}

/** The gate has checked that the key is present and well-formed. */
export function keyOf(input: Pick<HandlerInput, 'headers'>): string {
  return input.headers['idempotency-key'] as string;
}

export function isForced(input: Pick<HandlerInput, 'headers'>): boolean {
  return input.headers['x-force-send'] === 'true';
}

export function replayHeaders({ replayed }: { replayed: boolean }): Record<string, string> | undefined {
  return replayed ? REPLAYED : undefined;
}
