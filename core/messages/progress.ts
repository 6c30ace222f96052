/**
 * The states of an outbound message and the one rule about them: never backwards (SND-35).
 * queued < sent < delivered < read, played; failed is final and only a queued message can fail.
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

/**
 * The steps a message takes when the network proves `to`: those between, since a receipt proves what
 * comes before it (delivered proves sent), then `to` itself. Empty when it is there already or can't
 * go there. A played message was not necessarily read apart: played follows delivered.
 */
export function stepsBetween(from: MessageStatus, to: Step): Step[] {
  if (from === 'failed') return [];
  if (to === 'failed') return from === 'queued' ? ['failed'] : [];
  if (RANK[to] <= RANK[from]) return [];
  return LADDER.filter(
    (step) => RANK[step] > RANK[from] && RANK[step] <= RANK[to] && !(step === 'read' && to === 'played'),
  );
}
