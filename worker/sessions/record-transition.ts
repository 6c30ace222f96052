import { type TransitionOutcome, transitionInstance } from '@posthorn/core/instances/transition-instance.ts';
import type { SessionContext } from './session-context.ts';
import type { PlannedTransition } from './session-decisions.ts';

/** Records a transition of the instance, or fields that change with its state. */
export async function recordTransition(
  held: SessionContext,
  planned: PlannedTransition,
): Promise<TransitionOutcome> {
  const { deps, lease, row } = held;
  const outcome = await transitionInstance(deps, { instanceId: row.id, lease, ...planned });
  if (planned.to !== 'CONNECTED') held.watch.clear();
  if (outcome === 'moved') {
    const { last_error: told, restriction: limited } = planned.fields;
    // Connecting clears the error; connecting and disconnecting clear the restriction.
    const lastError = told === undefined ? (planned.to === 'CONNECTED' ? null : row.lastError) : told;
    const isCleared =
      planned.to !== row.state && (planned.to === 'CONNECTED' || planned.to === 'DISCONNECTED');
    const restriction = limited === undefined ? (isCleared ? null : row.restriction) : limited;
    held.row = { ...held.row, state: planned.to, lastError, restriction };
  }
  return outcome;
}

/** Shows users why the instance is not connected, once per reason. */
export async function showError(held: SessionContext, error: string): Promise<void> {
  const { state, lastError } = held.row;
  if (lastError === error) return;
  const to = state === 'CREATED' ? 'DISCONNECTED' : state;
  const reason = to === state ? null : 'connection_lost';
  await recordTransition(held, { to, reason, fields: { last_error: error } });
}

/** Records that the network restricts the account; the instance stays connected. */
export async function onRestricted(held: SessionContext, restriction: string | null): Promise<void> {
  if (held.row.state !== 'CONNECTED' || held.row.restriction === restriction) return;
  await recordTransition(held, { to: 'CONNECTED', reason: null, fields: { restriction } });
}
