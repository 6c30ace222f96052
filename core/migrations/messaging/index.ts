import { Baseline } from './0001-baseline.ts';
import { EarlyRetries } from './0002-early-retries.ts';
import { NetworkInbox } from './0003-network-inbox.ts';
import { WorkersOfAnyShard } from './0004-workers-of-any-shard.ts';
import { MovedInstances } from './0005-moved-instances.ts';
import { MessageArchives } from './0006-message-archives.ts';
import { LoneJobs } from './0007-lone-jobs.ts';
import { EarlierSecrets } from './0008-earlier-secrets.ts';
import { SendsOfAccounts } from './0009-sends-of-accounts.ts';
import { TimesOfFailures } from './0010-times-of-failures.ts';

/** Every migration of the messaging schema, oldest first. A landed one is never edited. */
export const migrations = [
  Baseline,
  EarlyRetries,
  NetworkInbox,
  WorkersOfAnyShard,
  MovedInstances,
  MessageArchives,
  LoneJobs,
  EarlierSecrets,
  SendsOfAccounts,
  TimesOfFailures,
];
