/** The floor: accounts on the library alone, with their keys in memory, in a process of their own. */
import {
  keysInMemory,
  loadPlainLibrary,
  type PlainSocket,
  SILENT_LOG,
} from '@posthorn/test/support/whatsapp/plain-library.ts';
import { answerQuestions, nowMs } from './child.ts';
import type { Outgoing } from './side.ts';

interface Account {
  socket: PlainSocket;
  qr: PromiseWithResolvers<string>;
  ready: PromiseWithResolvers<void>;
}

const accounts: Account[] = [];
/** When each text was received. */
const received = new Map<string, number>();
let library: Awaited<ReturnType<typeof loadPlainLibrary>>;
let url = '';

answerQuestions({
  async start(given: { url: string; root: string }) {
    url = given.url;
    // The library's Signal code prints sessions.
    Object.assign(console, { log() {}, info() {}, warn() {}, error() {} });
    library = await loadPlainLibrary(Buffer.from(given.root, 'base64'));
  },

  /** Opens an account; answers the QR code that pairs it. */
  async open() {
    const [creds, keys] = [library.initAuthCreds(), keysInMemory()];
    const account: Account = {
      socket: undefined as unknown as PlainSocket,
      qr: Promise.withResolvers(),
      ready: Promise.withResolvers(),
    };
    accounts.push(account);
    connect(account, { creds, keys });
    return account.qr.promise;
  },

  ready: () => accounts.at(-1)!.ready.promise,

  /** Sends texts, `atOnce` at a time; answers the time at which it began. */
  async send({ texts, atOnce }: { texts: readonly Outgoing[]; atOnce: number }) {
    const begunAtMs = nowMs();
    const left = [...texts];
    await Promise.all(
      Array.from({ length: atOnce }, async () => {
        for (let next = left.shift(); next; next = left.shift()) {
          await accounts[next.account]!.socket.sendMessage(`${next.to}@s.whatsapp.net`, { text: next.text });
        }
      }),
    );
    return begunAtMs;
  },

  /** The times at which these texts were received; without those not received yet. */
  received({ texts }: { texts: readonly string[] }) {
    const times = Object.fromEntries(
      texts.filter((text) => received.has(text)).map((text) => [text, received.get(text)]),
    );
    return times;
  },
});

function connect(account: Account, auth: Parameters<typeof library.makeWASocket>[0]['auth']): void {
  const config = {
    waWebSocketUrl: url,
    auth,
    logger: SILENT_LOG,
    browser: ['Floor', 'Chrome', '1.0.0'],
    markOnlineOnConnect: false,
    syncFullHistory: false,
    emitOwnEvents: false,
  };
  const socket = library.makeWASocket(
    config as unknown as Parameters<typeof library.makeWASocket>[0],
  ) as PlainSocket;
  account.socket = socket;
  socket.ev.on('creds.update', (update) => Object.assign(auth.creds, update));
  socket.ev.on('messages.upsert', ({ messages }) => {
    for (const { message } of messages) {
      const text = message?.conversation ?? message?.extendedTextMessage?.text;
      if (text) received.set(text, nowMs());
    }
  });
  socket.ev.on('connection.update', (update) => {
    if (update.qr) account.qr.resolve(update.qr);
    if (update.connection === 'open') account.ready.resolve();
    // After a pairing the network asks for a new login.
    if (update.connection === 'close') connect(account, auth);
  });
}
