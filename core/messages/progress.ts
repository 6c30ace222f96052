/**
 * The states of an outbound message and the one rule about them: never backwards (SND-35).
 * queued < sent < delivered < read, played; failed is final, except for a message whose outcome was unknown: a later
 * proof counts. A queued message can fail, and one that was sent when the network itself tells that it failed.
 */
export type MessageStatus = 'queued' | 'sent' | 'delivered' | 'read' | 'played' | 'failed';
export type Step = Exclude<MessageStatus, 'queued'>;

const RANK: Record<MessageStatus, number> = {
  queued: 0,
  sent: 1,
  delivered: 2,
  read: 3,
  played: 4,
  failed: 9,
};
const LADDER: readonly Exclude<Step, 'failed'>[] = ['sent', 'delivered', 'read', 'played'];

/** The reason of a failed send that may have reached the network. */
export const OUTCOME_UNKNOWN = 'outcome_unknown';
/** The reason of a send that was accepted for another account (SND-54). */
export const ACCOUNT_CHANGED = 'account_changed';

/**
 * The steps a message takes when the network proves `to`: those between, since a receipt proves what
 * comes before it (delivered proves sent), then `to` itself. Empty when it is there already or can't
 * go there. A played message was not necessarily read apart: played follows delivered.
 */
export function stepsBetween(
  from: MessageStatus,
  to: Step,
  failedReason: string | null = null,
  isToldByNetwork = false,
): Step[] {
  const isUnknown = from === 'failed' && failedReason === OUTCOME_UNKNOWN;
  if (to === 'failed') {
    const mayFail = from === 'queued' || (isToldByNetwork && (from === 'sent' || isUnknown));
    return mayFail ? ['failed'] : [];
  }
  if (from === 'failed') return isUnknown ? stepsBetween('queued', to) : [];
  if (RANK[to] <= RANK[from]) return [];
  return LADDER.filter(
    (step) => RANK[step] > RANK[from] && RANK[step] <= RANK[to] && !(step === 'read' && to === 'played'),
  );
}
