import type { Trace } from '../platform/tracing/trace.ts';
import type { AcceptedSend, SendCommand } from './send-command.ts';

/** Tells that a send was accepted, or found to be a repetition. */
export function traceAccept(
  trace: Trace,
  { traceId, operation, instanceId }: SendCommand,
  { messageId, replayed }: AcceptedSend,
  durationMs: number,
): void {
  trace({
    traceId,
    name: 'accept',
    kind: 'internal',
    durationMs,
    attributes: {
      'posthorn.operation': operation,
      'posthorn.instance_id': instanceId,
      'posthorn.message_id': messageId,
      'posthorn.replayed': String(replayed),
    },
  });
}
