import type { Trace } from '@posthorn/core/platform/tracing/trace.ts';
import type { PendingTask } from '@posthorn/core/sending/load-pending.ts';
import type { TaskOutcome } from './send-task.ts';

/** Runs an attempt at a task, and tells how long the task waited before it and what the network made of it. */
export async function traceAttempt(
  deps: { trace: Trace; clock: { now(): Date } },
  task: PendingTask & { traceId: string },
  instanceId: string,
  run: () => Promise<TaskOutcome>,
): Promise<TaskOutcome> {
  const { trace, clock } = deps;
  const startedAtMs = clock.now().getTime();
  const { traceId, operation } = task;
  const attributes = { 'posthorn.operation': operation, 'posthorn.instance_id': instanceId };
  const waitedMs = Math.max(0, startedAtMs - task.createdAt.getTime());
  trace({
    traceId,
    name: 'queue',
    kind: 'internal',
    durationMs: waitedMs,
    endedAtMs: startedAtMs,
    attributes,
  });
  const end = (outcome: string, failure?: string) =>
    trace({
      traceId,
      name: 'send',
      kind: 'client',
      durationMs: clock.now().getTime() - startedAtMs,
      attributes: { ...attributes, 'posthorn.outcome': outcome },
      failure,
    });
  try {
    const outcome = await run();
    end(outcome.to, outcome.to === 'failed' ? (outcome.reason ?? 'send_failed') : undefined);
    return outcome;
  } catch (err) {
    end('interrupted', 'interrupted');
    throw err;
  }
}
