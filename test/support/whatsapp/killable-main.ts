import { setTimeout as delay } from 'node:timers/promises';
import type { SessionKey } from '@posthorn/core/network/driver.ts';
import { networkIdOf, newId } from '@posthorn/core/platform/ids.ts';
import { createWhatsAppDriver } from '@posthorn/network/whatsapp/driver.ts';
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';
import {
  type Kept,
  type MemoryKeys,
  newKept,
  openRecorded,
  outbound,
  type Recorded,
} from './driver-harness.ts';
import { FileKeys, KeyFile } from './file-keys.ts';
import { until } from './phone-handle.ts';

/**
 * A worker's part of some sessions in a process of its own, to be killed: it opens them and writes to a friend without
 * a pause. All its state is in a file, so that the next process continues from there. Over the channel of `fork` it
 * reports that it is ready, its QR codes, and each write of keys.
 */
export interface Killable {
  file: string;
  url: string;
  ca: string;
  root: string;
  friend: string;
  sessions: number;
}
/** `live`: writes until it is killed. `settle`: writes once, and receives the waiting messages. */
export type ToKillable = { begin: 'live' | 'settle' };
export type FromKillable = { ready: true } | { qr: string } | { sent: number } | { wrote: true };

const WAIT_MS = 240_000;
/** The most sends without an answer at the same time. */
const WINDOW = 4;
const given = JSON.parse(process.argv[2]!) as Killable;
const file = new KeyFile(given.file);
const say = (message: FromKillable) => process.send?.(message);

/** As {@link FileKeys}, reporting each write when it is stored. */
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
  CREATE TABLE IF NOT EXISTS accepted (id TEXT PRIMARY KEY, session INT, isTaken INT);
`);
process.once('message', async ({ begin }: ToKillable) => {
  const all = Array.from({ length: given.sessions }, (_, at) => at + 1);
  if (begin === 'live') await Promise.all(all.map(holdForEver));
  // One after the other, because pairing is much work.
  else for (const nth of all) await settle(nth);
});
process.once('disconnect', () => process.exit());
say({ ready: true });

/** As a worker does: a session that ends is opened again. */
async function holdForEver(nth: number): Promise<never> {
  for (;;) {
    const life = await open(nth);
    while (life.ended.length === 0) await write(nth, life);
  }
}

async function settle(nth: number): Promise<void> {
  let life = await open(nth);
  while (!(await write(nth, life))) if (life.ended.length > 0) life = await open(nth);
}

/** Ids that were accepted and that no process knows to be with the network, in order. */
function waiting(nth: number): string[] {
  const rows = file
    .prepare('SELECT id FROM accepted WHERE session = ? AND NOT isTaken ORDER BY rowid')
    .all(nth);
  return rows.map(({ id }) => String(id));
}

/**
 * Writes to the friend, beginning with the messages that killed processes left. Returns whether the network has
 * confirmed everything that was accepted.
 */
async function write(nth: number, { session }: Recorded): Promise<boolean> {
  const ids = waiting(nth).slice(0, WINDOW);
  while (ids.length < WINDOW) {
    const id = networkIdOf(newId());
    file.prepare('INSERT INTO accepted VALUES (?, ?, 0)').run(id, nth);
    ids.push(id);
  }
  const outcomes = ids.map((networkId) =>
    session.send(outbound(given.friend, 'text', { text: `from ${nth}` }, { networkId })).then(
      () => true,
      () => false,
    ),
  );
  for (const [at, outcome] of outcomes.entries()) {
    if (!(await outcome)) {
      await Promise.all(outcomes);
      await delay(100);
      return false;
    }
    file.prepare('UPDATE accepted SET isTaken = 1 WHERE id = ?').run(ids[at]!);
    session.recorded([ids[at]!]);
  }
  if (waiting(nth).length === 0) say({ sent: nth });
  return waiting(nth).length === 0;
}

/** Resolves when it is connected, or has ended. */
async function open(nth: number): Promise<Recorded> {
  const paired = file.prepare('SELECT credentials FROM paired WHERE session = ?').get(nth);
  const keys = new ToldKeys(file, nth) as unknown as MemoryKeys;
  const kept: Kept = {
    ...newKept(),
    ...{ keys, credentials: paired ? JSON.parse(String(paired.credentials)) : null },
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
  // After a pairing this includes the history from the phone.
  const isReady = () => life.connected > 0 && (paired || life.history.length > 0);
  await until(() => isReady() || life.ended.length > 0, `session ${nth} is connected`, WAIT_MS);
  return life;
}
