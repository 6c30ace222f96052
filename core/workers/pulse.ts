/**
 * A worker's knowledge of its own standing. A process can be frozen between any two of its statements and
 * does not notice by itself, so it asks before each thing that it does to the world outside.
 */
export interface Pulse {
  /**
   * True while nobody can have declared this worker dead: its last heartbeat is young. While it is false, the worker
   * must neither send nor write; it may go on once it is true again, with what has not been taken from it.
   */
  isAlive(): boolean;
  /** Names this worker in its claims; null while it has no standing, and then it claims nothing. */
  id(): number | null;
  /** Called when others declared it dead: what it had claimed is theirs. */
  onFenced(handler: () => void): void;
  /** Called when it is alive again after it was not. */
  onAlive(handler: () => void): void;
}

/** SQL: the claim in this column is of a worker that is no more. Claims without a name end by time alone. */
export function holderIsGone(column: string): string {
  // The living are read once a statement: a claim passes many rows that others hold.
  return `(${column} IS NOT NULL AND ${column} <> ALL (ARRAY(SELECT id FROM workers)))`;
}
