import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { CommandError, UsageError } from './fault.ts';

/** A login: the JWT, and the tokens that renew it. */
export interface StoredSession {
  token: string;
  expires_at: string;
  refresh_token: string | null;
  csrf_token: string | null;
}

/** The stored data of one service; keys are sent only to the address that they came from. */
export interface StoredAccount {
  api_key?: string | undefined;
  session?: StoredSession | undefined;
  company_id?: number | undefined;
  email?: string | undefined;
  /** The instance that commands use when none is named. */
  instance_id?: string | undefined;
  /** The secret that `webhooks listen --forward-to` signs with. */
  forward_secret?: string | undefined;
}

interface Accounts {
  /** The service last registered at or logged in to. */
  default_url?: string;
  accounts: Record<string, StoredAccount>;
}

/** The profile named default is at the top level, where it was when it was the only one. */
interface ProfileFile extends Accounts {
  current_profile?: string;
  profiles?: Record<string, Accounts>;
}

export interface Profile {
  path: string;
  /** The profile in use: the one named by a flag or variable, else the chosen one, else `default`. */
  name: string;
  names(): string[];
  /** Makes it the profile in use from now on. */
  choose(name: string): void;
  remove(name: string): void;
  /** The service last registered at or logged in to; a profile without one takes that of the chosen one, or of `default`. */
  defaultUrl(): string | undefined;
  account(url: string): StoredAccount;
  /** Merges into what is stored; `undefined` forgets a field. */
  update(url: string, change: StoredAccount, options?: { isDefault?: boolean }): void;
}

const DEFAULT = 'default';

/** `POSTHORN_CONFIG`, else `posthorn/config.json` where the system keeps configuration. */
export function profilePath(env: NodeJS.ProcessEnv): string {
  const base = env.XDG_CONFIG_HOME || path.join(env.HOME || homedir(), '.config');
  return env.POSTHORN_CONFIG || path.join(base, 'posthorn', 'config.json');
}

/** The file is read at each use: another msgctl may have renewed the session meanwhile. */
export function openProfile(file: string, named?: string | undefined): Profile {
  if (named !== undefined && !/^[\w.-]{1,64}$/.test(named)) {
    throw new UsageError('the name of a profile is letters, digits, dots, dashes and underscores');
  }
  // Read only when needed, so that a damaged file does not fail commands that use no profile.
  const current = () => named ?? read(file).current_profile ?? DEFAULT;
  const accountsOf = (stored: ProfileFile, name = current()) =>
    name === DEFAULT ? stored : (stored.profiles?.[name] ?? { accounts: {} });
  return {
    path: file,
    get name() {
      return current();
    },
    names: () => [...new Set([DEFAULT, ...Object.keys(read(file).profiles ?? {})])],
    choose: (name) => change(file, (stored) => ({ ...stored, current_profile: name })),
    remove: (name) =>
      change(file, ({ current_profile, profiles, default_url, accounts }) => {
        const { [name]: _, ...left } = profiles ?? {};
        const kept = name === DEFAULT ? { accounts: {} } : { default_url, accounts };
        return { ...kept, profiles: left, ...(current_profile === name ? {} : { current_profile }) };
      }),
    defaultUrl() {
      const stored = read(file);
      const names = [current(), stored.current_profile ?? DEFAULT, DEFAULT];
      return names.map((name) => accountsOf(stored, name).default_url).find((url) => url !== undefined);
    },
    account: (url) => accountsOf(read(file)).accounts[url] ?? {},
    update: (url, account, { isDefault = false } = {}) =>
      change(file, (stored) => {
        const name = named ?? stored.current_profile ?? DEFAULT;
        const own: Accounts = accountsOf(stored, name);
        own.accounts[url] = { ...own.accounts[url], ...account };
        if (isDefault) own.default_url = url;
        return name === DEFAULT ? stored : { ...stored, profiles: { ...stored.profiles, [name]: own } };
      }),
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

/** Changes the stored profile. Throws CommandError if it cannot be written. */
function change(file: string, next: (stored: ProfileFile) => ProfileFile): void {
  try {
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const real = targetOf(file);
    locked(`${real}.lock`, () => write(real, next(read(real))));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`cannot write ${file}: ${(error as Error).message}`);
  }
}

/** The file behind a link, as to a folder of settings: renamed onto the link itself, a draft would take its place. */
function targetOf(file: string): string {
  return existsSync(file) ? realpathSync(file) : file;
}

/** A change takes milliseconds. A lock older than this belongs to a msgctl that was killed. */
const LOCK_MS = 5_000;
const LOCK_PAUSE_MS = 10;

/**
 * Lets one msgctl at a time change the file: a second one would overwrite the change of the first, and its key would be
 * lost.
 */
function locked(lock: string, run: () => void): void {
  const endsAtMs = performance.now() + LOCK_MS;
  for (;;) {
    try {
      closeSync(openSync(lock, 'wx'));
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (performance.now() > endsAtMs) rmSync(lock, { force: true });
      else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_PAUSE_MS);
    }
  }
  try {
    run();
  } finally {
    rmSync(lock, { force: true });
  }
}

/** Writes a second file and renames it, so that a reader never finds half a file; only its owner may read it. */
function write(file: string, stored: ProfileFile): void {
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(stored, null, 2)}\n`, { mode: 0o600 });
  renameSync(draft, file);
}
