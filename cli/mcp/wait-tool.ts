import type { Context } from '../context.ts';
import { UsageError } from '../fault.ts';
import { checkArguments, instanceOf, refused, type ToolAnswer } from './call-tool.ts';

const STATES = ['sent', 'delivered', 'read', 'played'] as const;
const TIMEOUT_MAX_S = 300;

/** The one tool that is no endpoint: it waits for the outcome of a send. */
export const WAIT_TOOL = {
  name: 'messages_waitFor',
  description: 'Wait until a message has got so far, or further; says so when it failed or time is over',
  inputSchema: {
    type: 'object' as const,
    properties: {
      message_id: { type: 'string', description: 'What the send answered' },
      state: { type: 'string', enum: [...STATES], description: 'Default: delivered' },
      timeout_seconds: { type: 'integer', minimum: 1, maximum: TIMEOUT_MAX_S, description: 'Default: 60' },
      instance_id: { type: 'string', description: 'The instance; may be left out when there is only one' },
    },
    required: ['message_id'],
  },
  annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
};

export async function waitForMessage(context: Context, args: Record<string, unknown>): Promise<ToolAnswer> {
  const { message_id: messageId, state = 'delivered', timeout_seconds: timeoutS = 60 } = args;
  try {
    checkArguments(WAIT_TOOL, args);
    if (typeof messageId !== 'string') throw new UsageError('message_id must be a string');
    const wanted = STATES.find((each) => each === state);
    if (!wanted) throw new UsageError(`state must be one of ${STATES.join(', ')}`);
    if (typeof timeoutS !== 'number' || !(timeoutS >= 1 && timeoutS <= TIMEOUT_MAX_S))
      throw new UsageError(`timeout_seconds must be 1 to ${TIMEOUT_MAX_S}`);
    const instanceId = await instanceOf(context, args);
    const options = { timeoutMs: timeoutS * 1_000, signal: context.signal };
    const message = await context.client().messages.waitFor({ instanceId, messageId }, wanted, options);
    return { isError: false, data: { result: message, next_steps: [] } };
  } catch (error) {
    return refused(error);
  }
}
