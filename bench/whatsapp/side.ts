/** A text of one of a side's accounts to a contact. */
export interface Outgoing {
  /** Counts from 0. */
  account: number;
  /** The number of the contact. */
  to: string;
  /** No other has the same text. */
  text: string;
}

/** The resources that a side has used so far. */
export interface Costs {
  /** CPU of its process. */
  cpuMs: number;
  postgresMs: number;
  /** Transactions that have written something. */
  commits: number;
}

/** The two sides of the comparison: accounts that send and receive. */
export interface Side {
  name: string;
  /** The accounts' own numbers. */
  numbers: string[];
  /** Sends texts, `atOnce` at a time; returns the time at which it began, by `nowMs`. */
  send(texts: readonly Outgoing[], atOnce: number): Promise<number>;
  /** Resolves when all these texts were received and reported; returns the time of the last one, by `nowMs`. */
  received(texts: readonly string[]): Promise<number>;
  costs(): Promise<Costs>;
  stop(): Promise<unknown>;
}
