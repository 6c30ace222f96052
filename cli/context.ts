import {
  type BillingClient,
  type Client,
  type ClientOptions,
  createBillingClient,
  createClient,
} from '@posthorn/sdk/index.ts';
import { addressOf } from './address.ts';
import type { CompletionNode } from './completion/tree.ts';
import { UsageError } from './fault.ts';
import { interruptible } from './interruptible.ts';
import type { Output } from './output.ts';
import { openProfile, type Profile, profilePath } from './profile.ts';
import { findRunningService, isLocal, type RunningService } from './running-service.ts';
import { createSandboxApi, type SandboxApi } from './sandbox-api.ts';
import { currentToken } from './session.ts';
import { type Terminal, terminalOf } from './terminal.ts';
import { VERSION } from './version.ts';
import { idOfName, onlyInstance } from './which-instance.ts';

/** The flags that every command takes. */
export interface GlobalOptions {
  url?: string;
  key?: string;
  instance?: string;
  billingUrl?: string;
  sandboxUrl?: string;
  profile?: string;
  yes?: boolean;
  json?: boolean;
  /** The filter, as written. */
  jq?: string;
  csv?: boolean;
}

/** The dependencies of a command. */
export interface Context {
  out: Output;
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  /** The terminal on which views are drawn; null when no person sits at one. */
  terminal: Terminal | null;
  /** Fires on Ctrl-C. */
  signal: AbortSignal;
  /** Address of the messaging service. */
  url: string;
  profile: Profile;
  /** A client with the API key, else with the login; `fetch` replaces the global one. */
  client(options?: Pick<ClientOptions, 'fetch'>): Client;
  /** A client without credentials. */
  anonymous(): Client;
  /** A client with the login, for endpoints that take no API key. */
  session(): Client;
  /** A client of the billing service, with the same credentials. */
  billing(): BillingClient;
  anonymousBilling(): BillingClient;
  sandbox(): SandboxApi;
  /** Every command with its flags, for completions. */
  commandTree(): CompletionNode;
  /** Address of the sandbox network's control API. */
  sandboxUrl: string;
  /** Asks before something is destroyed, unless `--yes` was given. */
  confirm(what: string): Promise<void>;
  /**
   * The id of the instance that `--instance` or POSTHORN_INSTANCE names. Undefined without either: the command then
   * covers all instances of the company, not the remembered one.
   */
  namedInstanceId(): Promise<string | undefined>;
  /** The id of the named instance, else of the remembered one, else of the only one. */
  instanceId(named?: string): Promise<string>;
}

const DEFAULT_URL = 'http://127.0.0.1:8080';
const DEFAULT_BILLING_URL = 'http://127.0.0.1:8081';
const DEFAULT_SANDBOX_URL = 'http://127.0.0.1:8090';
const DEADLINE_MS = 90_000;
const NO_COMMANDS: CompletionNode = { name: 'msgctl', summary: '', commands: [], flags: [], words: [] };
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

export function createContext(deps: {
  options: GlobalOptions;
  env: NodeJS.ProcessEnv;
  stdin: NodeJS.ReadStream;
  out: Output;
  signal: AbortSignal;
  stdout?: NodeJS.WriteStream;
  commandTree?: () => CompletionNode;
}): Context {
  const { options, env } = deps;
  const profile = openProfile(profilePath(env), options.profile || env.POSTHORN_PROFILE);
  const running = findRunningService(process.cwd());
  const url = addressOf(options.url || env.POSTHORN_URL || usualUrl(profile, running), '--url');
  // The other addresses of this service, if it is the one that runs here.
  const beside = running?.url === url ? running : undefined;
  const namedInstance = options.instance || env.POSTHORN_INSTANCE || undefined;
  const billingUrl =
    options.billingUrl ||
    env.POSTHORN_BILLING_URL ||
    (beside?.billingUrl ?? (isLocal(url) ? DEFAULT_BILLING_URL : undefined));
  const sandboxUrl =
    options.sandboxUrl || env.POSTHORN_SANDBOX_URL || (beside?.sandboxUrl ?? DEFAULT_SANDBOX_URL);
  const common = { userAgent: `msgctl/${VERSION}`, baseUrl: url, deadlineMs: DEADLINE_MS };

  /** The key, else the login. Without either, the error says how to get one. */
  function credentials(): { apiKey: string } | { token: () => Promise<string> } {
    const given = options.key || env.POSTHORN_API_KEY;
    if (given) return { apiKey: given };
    const { api_key: apiKey, session } = profile.account(url);
    if (apiKey) return { apiKey };
    if (session) return { token };
    throw new UsageError(`no key for ${url}: msgctl register, msgctl login, --key or POSTHORN_API_KEY`);
  }
  const token = () => currentToken({ profile, url });

  /** A billing service on this machine must not get the key of a service on another one. */
  function billingAt(): string {
    if (billingUrl) return addressOf(billingUrl, '--billing-url');
    throw new UsageError(`where is the billing of ${url}? --billing-url or POSTHORN_BILLING_URL`);
  }
  const messaging = (more: Partial<ClientOptions>) =>
    interruptible(createClient({ ...common, ...more }), deps.signal);
  const billing = (more: Partial<ClientOptions>) =>
    interruptible(createBillingClient({ ...common, baseUrl: billingAt(), ...more }), deps.signal);
  const client: Context['client'] = (more) => messaging({ ...credentials(), ...more });

  async function instanceId(named = namedInstance): Promise<string> {
    if (named) return UUID.test(named) ? named : idOfName(client(), named);
    return profile.account(url).instance_id ?? onlyInstance(client());
  }

  return {
    out: deps.out,
    env,
    stdin: deps.stdin,
    terminal: terminalOf({ ...deps, stdout: deps.stdout, isJson: deps.out.isJson }),
    signal: deps.signal,
    url,
    profile,
    client,
    session: () => messaging({ token }),
    anonymous: () => messaging({}),
    billing: () => billing(credentials()),
    anonymousBilling: () => billing({}),
    sandbox: () => createSandboxApi(addressOf(sandboxUrl, '--sandbox-url'), deps.signal),
    sandboxUrl,
    commandTree: deps.commandTree ?? (() => NO_COMMANDS),
    async confirm(what) {
      if (options.yes) return;
      const { confirm } = await import('./confirm.ts');
      await confirm({ ...deps, stderr: process.stderr }, what);
    },
    namedInstanceId: async () => (namedInstance === undefined ? undefined : instanceId()),
    instanceId,
  };
}

/** The address when none is given: the service of the profile, or the one that runs here in place of a local one. */
function usualUrl(profile: Profile, running: RunningService | null): string {
  const remembered = profile.defaultUrl() || DEFAULT_URL;
  return running && isLocal(remembered) ? running.url : remembered;
}
