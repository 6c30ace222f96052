import type {
  HistoryBatch,
  InboundMessage,
  NetworkChange,
  NetworkFact,
  NetworkReceipt,
  PresenceUpdate,
  SessionSink,
} from '@posthorn/core/network/driver.ts';

/** Everything that a session reported, in order. */
export interface Heard {
  receipts: NetworkReceipt[];
  inbound: InboundMessage[];
  changes: NetworkChange[];
  facts: NetworkFact[];
  history: HistoryBatch[];
  presence: PresenceUpdate[];
}

export function nothingHeard(): Heard {
  return { receipts: [], inbound: [], changes: [], facts: [], history: [], presence: [] };
}

/** The part of a sink that records everything. */
export function hearing(heard: Heard): Pick<SessionSink, keyof Heard> {
  return {
    async receipts(receipts) {
      heard.receipts.push(...receipts);
    },
    async inbound(messages) {
      heard.inbound.push(...messages);
    },
    async changes(changes) {
      heard.changes.push(...changes);
    },
    async facts(facts) {
      heard.facts.push(...facts);
    },
    async history(batch) {
      heard.history.push(batch);
    },
    presence(updates) {
      heard.presence.push(...updates);
    },
  };
}
