import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import type { SessionKey } from '@posthorn/network/driver.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import { connected, type Kept, type MemoryKeys, newKept, openRecorded, outbound } from './driver-harness.ts';
import { FileKeys, KeyFile } from './file-keys.ts';
import { until } from './phone-handle.ts';

/**
 * A worker's part of some sessions in a process of its own, to be killed: it opens them and writes to a friend without
 * a pause. All that it knows is in a file, so that the next process goes on from there. It says over the channel of
 * `fork` when it is ready, what QR codes it shows, and each write of keys.
 */
export interface Killable {
  file: string;
  url: string;
  ca: string;
  root: string;
  friend: string;
  sessions: number;
}
/** `live`: writes until it is killed. `settle`: writes once, and takes in what comes. */
export type ToKillable = { begin: 'live' | 'settle' };
export type FromKillable = { ready: true } | { qr: string } | { sent: number } | { wrote: true };

const given = JSON.parse(process.argv[2]!) as Killable;
const file = new KeyFile(given.file);
const say = (message: FromKillable) => process.send?.(message);

/** As {@link FileKeys}, telling of each write when it is there. */
class ToldKeys extends FileKeys {
  override async write(changes: readonly SessionKey[]): Promise<void> {
    await super.write(changes);
    say({ wrote: true });
  }
}

trustRoot(await loadLibrary(), Buffer.from(given.root, 'base64'));
const driver = createWhatsAppDriver({
  ...{ url: given.url, ca: given.ca },
  log: { debug() {}, warn() {}, error() {} },
});
file.db.exec(`
  CREATE TABLE IF NOT EXISTS paired (session INT PRIMARY KEY, credentials TEXT);
  CREATE TABLE IF NOT EXISTS recorded (id TEXT PRIMARY KEY, text TEXT);
  CREATE TABLE IF NOT EXISTS taken (id TEXT PRIMARY KEY);
`);
process.once('message', ({ begin }: ToKillable) => {
  for (let nth = 1; nth <= given.sessions; nth += 1) void hold(nth, begin);
});
process.once('disconnect', () => process.exit());
say({ ready: true });

async function hold(nth: number, begin: ToKillable['begin']): Promise<void> {
  const paired = file.prepare('SELECT credentials FROM paired WHERE session = ?').get(nth);
  const keys = new ToldKeys(file, nth) as unknown as MemoryKeys;
  const kept: Kept = {
    ...newKept(),
    keys,
    credentials: paired ? JSON.parse(String(paired.credentials)) : null,
  };
  const life = await openRecorded(driver, kept, {
    sink: {
      qr: (qr) => void say({ qr }),
      async paired({ credentials }) {
        file.prepare('INSERT OR REPLACE INTO paired VALUES (?, ?)').run(nth, JSON.stringify(credentials));
      },
      async inbound(messages) {
        for (const { networkId, content } of messages)
          file.prepare('INSERT OR IGNORE INTO recorded VALUES (?, ?)').run(networkId, String(content.text));
      },
    },
  });
  await connected(life);
  // With what the phone hands over after a pairing.
  if (!paired) await until(() => life.history.length > 0, 'the history', 60_000);
  do {
    const message = outbound(
      given.friend,
      'text',
      { text: `from ${nth}` },
      { networkId: networkIdOf(newId()) },
    );
    await life.session.send(message);
    file.prepare('INSERT INTO taken VALUES (?)').run(message.networkId);
    say({ sent: nth });
  } while (begin === 'live');
}
