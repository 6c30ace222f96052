import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { CommandError } from './fault.ts';

/** A login: the JWT and what renews it. */
export interface StoredSession {
  token: string;
  expires_at: string;
  refresh_token: string | null;
  csrf_token: string | null;
}

/** What is remembered of one service; keys never go to another address than the one they came from. */
export interface StoredAccount {
  api_key?: string | undefined;
  session?: StoredSession | undefined;
  company_id?: number | undefined;
  email?: string | undefined;
  /** The instance that commands mean when none is named. */
  instance_id?: string | undefined;
}

interface ProfileFile {
  /** The service last registered at or logged in to. */
  default_url?: string;
  accounts: Record<string, StoredAccount>;
}

export interface Profile {
  path: string;
  defaultUrl(): string | undefined;
  account(url: string): StoredAccount;
  /** Merges into what is stored; `undefined` forgets a field. */
  update(url: string, change: StoredAccount, options?: { isDefault?: boolean }): void;
}

/** `POSTHORN_CONFIG`, else `posthorn/config.json` where the system keeps configuration. */
export function profilePath(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CONFIG_HOME || path.join(env.HOME || homedir(), '.config');
  return env.POSTHORN_CONFIG || path.join(base, 'posthorn', 'config.json');
}

/** Read anew at each use: another msgctl may have renewed the session meanwhile. */
export function openProfile(file: string): Profile {
  return {
    path: file,
    defaultUrl: () => read(file).default_url,
    account: (url) => read(file).accounts[url] ?? {},
    update(url, change, { isDefault = false } = {}) {
      const stored = read(file);
      stored.accounts[url] = { ...stored.accounts[url], ...change };
      if (isDefault) stored.default_url = url;
      write(file, stored);
    },
  };
}

function read(file: string): ProfileFile {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { accounts: {} };
    throw new CommandError(`cannot read ${file}: ${(error as Error).message}`);
  }
  try {
    const stored = JSON.parse(text) as Partial<ProfileFile>;
    return { ...stored, accounts: { ...stored.accounts } };
  } catch {
    throw new CommandError(`${file} is not valid JSON: mend it or delete it`);
  }
}

/** Through a second file, so that a reader never finds half of one; readable by its owner alone. */
function write(file: string, stored: ProfileFile): void {
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}
