import { readFileSync } from 'node:fs';
import { createRequire, registerHooks } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { boundDecoders, type Decoders, type ReaderClass } from './bounded-decode.ts';
import type { WhatsAppLibrary } from './library-types.ts';
import { readNewerKinds } from './newer-kinds.ts';
import { keepSecretsOfOwn } from './own-copies.ts';
import { mendSignalSessions } from './signal-sessions.ts';
import { type Checks, replaceChecks, replaceSignalChecks, type SignalCurve } from './signatures.ts';

const LIBRARY = '@whiskeysockets/baileys';
const ownFolder = new URL('./library/', import.meta.url);

/**
 * Loads the library that speaks the network's protocol, from `library/node_modules` or from the root's. It is
 * not one of our dependencies (its libsignal is GPL-3.0), so it is only present if someone installed it. Our
 * checks of signatures replace its own.
 * Throws a one-line error that says what to install if the library is missing or is not the tested version.
 */
export async function loadLibrary(folder: URL = ownFolder): Promise<WhatsAppLibrary> {
  const wanted = wantedVersion(folder);
  const fromFolder = createRequire(folder);
  const packageFile = resolve(fromFolder, `${LIBRARY}/package.json`);
  if (packageFile === null) {
    throw new Error(
      `The WhatsApp driver needs ${LIBRARY} ${wanted}, which is not installed: run "npm run whatsapp:install" (its libsignal is GPL-3.0)`,
    );
  }
  const found = readVersion(packageFile);
  if (found !== wanted) {
    throw new Error(
      `The WhatsApp driver needs ${LIBRARY} ${wanted}, but ${found} is installed: run "npm run whatsapp:install"`,
    );
  }
  // Before loading the library, which copies the functions as they are at that time.
  const fromLibrary = createRequire(packageFile);
  loadQuietly(() => {
    mendSignalSessions(fromLibrary);
    fromLibrary('libsignal');
  });
  replaceSignalChecks(fromLibrary('libsignal/src/curve') as SignalCurve);
  const library = await loadGuarded(pathToFileURL(fromFolder.resolve(LIBRARY)).href);
  replaceChecks(library as Checks);
  const { Reader } = fromLibrary('protobufjs/minimal.js') as { Reader: ReaderClass };
  readNewerKinds(library as Decoders, Reader);
  boundDecoders(library as Decoders, Reader);
  keepSecretsOfOwn(library as WhatsAppLibrary);
  return library as WhatsAppLibrary;
}

/** Trusts only servers whose certificate is signed by `publicKey` (32 bytes): for simulated networks. */
export function trustRoot(library: WhatsAppLibrary, publicKey: Uint8Array): void {
  library.WA_CERT_DETAILS.PUBLIC_KEY = Buffer.from(publicKey);
}

/** Our crypto instead of that of Node.js; see `library-crypto.ts`. */
const CRYPTO = new URL('./library-crypto.ts', import.meta.url).href;

const NO_CONSOLE = "'use strict'; const console = { log() {}, info() {}, warn() {}, error() {} }; ";

/**
 * Loads the signal library with our crypto, and without a console: it prints whole sessions, including their private
 * keys.
 */
function loadQuietly(load: () => void): void {
  const hooks = registerHooks({
    resolve: (specifier, context, nextResolve) =>
      nextResolve(
        specifier === 'crypto' && context.parentURL?.includes('/libsignal/')
          ? fileURLToPath(CRYPTO)
          : specifier,
        context,
      ),
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.includes('/libsignal/') || loaded.source === undefined || loaded.source === null)
        return loaded;
      return { ...loaded, source: `${NO_CONSOLE}${Buffer.from(loaded.source as Uint8Array)}` };
    },
  });
  try {
    load();
  } finally {
    hooks.deregister();
  }
}

/** Modules of Node.js that the library gets ours instead of. */
const REPLACED: Readonly<Record<string, string>> = {
  crypto: CRYPTO,
  zlib: new URL('./bounded-inflate.ts', import.meta.url).href,
  events: new URL('./library-surroundings.ts', import.meta.url).href,
  async_hooks: new URL('./library-transactions.ts', import.meta.url).href,
};
/**
 * Functions of the library that others of its modules get wrapped by `library-socket.ts`, by module: layers of its
 * socket, to get their sends first, how it waits with a timeout, how it reads changes of the account's state, and how it
 * begins sessions.
 */
const WRAPPED_FUNCTIONS: Readonly<Record<string, { wraps: Record<string, string>; importedBy: RegExp }>> = {
  './socket.js': { wraps: { makeSocket: 'holdingStanzas' }, importedBy: /./ },
  './messages-send.js': { wraps: { makeMessagesSocket: 'answeringAskers' }, importedBy: /./ },
  '../Utils/index.js': {
    wraps: {
      promiseTimeout: 'timingCheaply',
      processSyncAction: 'tellingRemovals',
      parseAndInjectE2ESessions: 'beginningEach',
    },
    importedBy: /\/Socket\/(socket|chats|messages-send)\.js$/,
  },
};
/** Changes of its modules, by the end of their names. */
const CHANGED: Readonly<Record<string, { before: string; after: string }>> = {
  /** The library decrypts whether a change sets or removes something, and does not hand it on. */
  '/Utils/chat-utils.js': {
    before: 'onMutation({ syncAction,',
    after: 'onMutation({ operation, syncAction,',
  },
  /** It tells the network the account's name in a presence. An empty one, sent for a change without a name, may count as available. */
  '/Socket/socket.js': {
    before: 'if (creds.me?.name !== name) {',
    after: 'if (name && creds.me?.name !== name) {',
  },
  /** Devices without keys do not get the key of a group, and the others get its message all the same. */
  '/Socket/messages-send.js': {
    before: 'if (recipientJids.length > 0 && nodes.length === 0) {',
    after: 'if (recipientJids.length > 0 && nodes.length === 0 && !message.senderKeyDistributionMessage) {',
  },
};
const WRAPPED = '?wrapped';
const WRAPPERS = new URL('./library-socket.ts', import.meta.url).href;

/** The source of a module with a function that was wrapped. */
function wrappedModule(module: string): string {
  const path = module.slice(0, -WRAPPED.length);
  const specifier = Object.keys(WRAPPED_FUNCTIONS).find((each) => path.endsWith(each.replace(/^\.+/, '')))!;
  const own = `./${path.slice(path.lastIndexOf('/') + 1)}`;
  const wrapped = Object.entries(WRAPPED_FUNCTIONS[specifier]!.wraps).map(
    ([name, wrap]) => `export const ${name} = wrappers.${wrap}(plain.${name});`,
  );
  return `import * as plain from '${own}'; import * as wrappers from '${WRAPPERS}'; export * from '${own}';
${wrapped.join('\n')}`;
}

function sourceOf(module: string, source: unknown): string {
  const text = String(Buffer.from(source as Uint8Array));
  const change = Object.entries(CHANGED).find(([end]) => module.endsWith(end))?.[1];
  if (!change) return text;
  if (!text.includes(change.before)) throw new Error(`${LIBRARY} is not the version that is tested`);
  return text.replace(change.before, change.after);
}
const GLOBALS = `import { setTimeout, setInterval, setImmediate, fetch } from '${REPLACED.events}'; `;

/**
 * Loads the library with limited unpacking (`bounded-inflate.ts`), with emitters, timers and a `fetch` whose
 * errors are handled (`library-surroundings.ts`), and with functions that are wrapped (`library-socket.ts`).
 */
async function loadGuarded(url: string): Promise<unknown> {
  const isOfLibrary = (module: string | undefined) => module?.includes(`/${LIBRARY}/lib/`) === true;
  const hooks = registerHooks({
    resolve(specifier, context, nextResolve) {
      if (!isOfLibrary(context.parentURL)) return nextResolve(specifier, context);
      const found = nextResolve(REPLACED[specifier] ?? specifier, context);
      const wrapped = context.parentURL?.endsWith(WRAPPED) ? undefined : WRAPPED_FUNCTIONS[specifier];
      const isWrapped = wrapped?.importedBy.test(context.parentURL!);
      return isWrapped ? { ...found, url: `${found.url}${WRAPPED}` } : found;
    },
    load(module, context, nextLoad) {
      if (module.endsWith(WRAPPED))
        return { format: 'module', source: wrappedModule(module), shortCircuit: true };
      const loaded = nextLoad(module, context);
      if (!isOfLibrary(module)) return loaded;
      return { ...loaded, source: `${GLOBALS}${sourceOf(module, loaded.source)}` };
    },
  });
  try {
    return await import(url);
  } finally {
    hooks.deregister();
  }
}

function wantedVersion(folder: URL): string {
  const { dependencies } = JSON.parse(readFileSync(new URL('package.json', folder), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  return dependencies[LIBRARY]!;
}

function readVersion(packageFile: string): string {
  return (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }).version;
}

function resolve(from: NodeJS.Require, name: string): string | null {
  try {
    return from.resolve(name);
  } catch {
    return null;
  }
}
