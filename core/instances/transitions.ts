/** Where an instance stands with its network (INS-5). */
export type InstanceState = 'CREATED' | 'PAIRING' | 'CONNECTED' | 'DISCONNECTED' | 'HARD_PAUSED' | 'BANNED';

/** The state that the users asked for last; the worker that owns the shard brings the session there. */
export type DesiredState = 'connected' | 'disconnected' | 'logged_out';

/**
 * The transitions that the worker may write. CREATED is never come back to: after a logout an instance is
 * DISCONNECTED without credentials, and connecting it pairs anew.
 */
const TRANSITIONS: Record<InstanceState, readonly InstanceState[]> = {
  CREATED: ['PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED'],
  PAIRING: ['CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED'],
  CONNECTED: ['DISCONNECTED', 'PAIRING', 'HARD_PAUSED', 'BANNED'],
  DISCONNECTED: ['PAIRING', 'CONNECTED', 'HARD_PAUSED', 'BANNED'],
  HARD_PAUSED: ['CONNECTED', 'DISCONNECTED', 'BANNED'],
  BANNED: ['DISCONNECTED'],
};

export function mayTransition(from: InstanceState, to: InstanceState): boolean {
  return TRANSITIONS[from].includes(to);
}

/** Actions that users may ask of an instance. */
export type LifecycleAction = 'connect' | 'disconnect' | 'restart' | 'logout';

interface ActionRule {
  desired: DesiredState;
  /** States in which it may be asked; in any other it is 409 INVALID_INSTANCE_TRANSITION. */
  from: readonly InstanceState[];
  /** Closes a session that is open already and opens it again. */
  raisesGeneration: boolean;
}

/**
 * Asking twice is asking once: the state that an action leads to is among those it may be asked in.
 * A banned number can only be logged out (and another one paired); a throttled one may be disconnected
 * or logged out, but not pushed to connect, which is what it was throttled for.
 */
export const ACTIONS: Record<LifecycleAction, ActionRule> = {
  connect: {
    desired: 'connected',
    from: ['CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED'],
    raisesGeneration: false,
  },
  disconnect: {
    desired: 'disconnected',
    from: ['CREATED', 'PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED'],
    raisesGeneration: false,
  },
  restart: { desired: 'connected', from: ['PAIRING', 'CONNECTED', 'DISCONNECTED'], raisesGeneration: true },
  logout: {
    desired: 'logged_out',
    from: ['PAIRING', 'CONNECTED', 'DISCONNECTED', 'HARD_PAUSED', 'BANNED'],
    raisesGeneration: false,
  },
};
