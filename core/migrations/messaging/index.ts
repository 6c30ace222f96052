import { Baseline } from './0001-baseline.ts';
import { EarlyRetries } from './0002-early-retries.ts';
import { NetworkInbox } from './0003-network-inbox.ts';
import { MessageArchives } from './0004-message-archives.ts';

/** Every migration of the messaging schema, oldest first. A landed one is never edited. */
export const migrations = [Baseline, EarlyRetries, NetworkInbox, MessageArchives];
