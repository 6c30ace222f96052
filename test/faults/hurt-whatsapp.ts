import { randomInt } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../support/process.ts';
import type { RaggedLink } from '../support/ragged-link.ts';
import type { System } from '../support/system.ts';
import type { WhatsAppNetwork } from '../support/whatsapp/network.ts';
import type { PhoneHandle } from '../support/whatsapp/phone-handle.ts';
import type { Terminator } from './hurt-workers.ts';

/**
 * The parts that can be killed. A process takes the longest to come back. `cuts`: each connection to the database,
 * after any byte, for a while.
 */
export type What = 'answers' | 'connections' | 'process' | 'database' | 'lease' | 'cuts';

/** A kill comes within this time after all instances are connected. */
const WITHIN_MS = 800;
const BACK_MS = 120_000;
const CUTS_MS = 5_000;

export interface Hurting {
  network: WhatsAppNetwork;
  system: System;
  terminator: Terminator;
  /** The link to the database. */
  link: RaggedLink;
  /** The phones of the instances. */
  phones: readonly PhoneHandle[];
  kills: number;
  /** These take turns. */
  whats: readonly What[];
  signal: AbortSignal;
}

/** Kills again and again, each time when all instances are connected again. Returns how often each part was killed. */
export async function hurtWhatsApp(hurting: Hurting): Promise<Map<What, number>> {
  const { network, system, terminator, link, phones, kills, whats, signal } = hurting;
  const counts = new Map<What, number>();
  for (let kill = 0; kill < kills && !signal.aborted; kill += 1) {
    // Instances should be at work when they are hit.
    await waitFor(() => phones.every(({ device }) => device.connection !== null), BACK_MS, {
      what: `all are back after kill ${kill}`,
    }).catch(async (err: Error) => {
      const { rows } = await system.db.query('SELECT phone, state, wanted, last_error FROM instances');
      const said = system.workers.map((worker) => worker.output().slice(-2_000)).join('\n');
      throw new Error(`${err.message}: ${JSON.stringify([...counts])} ${JSON.stringify(rows)}\n${said}`);
    });
    await delay(randomInt(WITHIN_MS));
    const what = whats[kill % whats.length]!;
    counts.set(what, (counts.get(what) ?? 0) + 1);
    network.faults.onMessage = null;
    if (what === 'connections') network.control.dropAll();
    else if (what === 'database') await terminator.endAll();
    else if (what === 'lease') await terminator.cutLocks();
    else if (what === 'answers') await loseAnswers(network);
    else if (what === 'cuts') {
      link.fray();
      await delay(CUTS_MS);
      link.mend();
    } else {
      const victim = system.workers[randomInt(system.workers.length)]!;
      await victim.kill('SIGKILL');
      // A start that stalls on a busy machine is declared dead by the other worker and ends; a service manager tries again.
      await victim.restart().catch(() => victim.restart());
    }
  }
  network.faults.onMessage = null;
  return counts;
}

/**
 * The network takes the next message of each device, and the answer is lost together with the line. Resolves when one
 * is lost.
 */
async function loseAnswers(network: WhatsAppNetwork): Promise<void> {
  const lost = new Set<object>();
  network.faults.onMessage = (device) => {
    if (lost.has(device)) return null;
    lost.add(device);
    return 'drop_after_ledger';
  };
  await waitFor(() => lost.size > 0, BACK_MS, { what: 'an answer is lost' });
}
