import { reachOf } from '../access/company-scope.ts';
import type { Principal } from '../access/principal.ts';
import type { Bus } from '../platform/broker/bus.ts';
import type { Orm } from '../platform/database/orm.ts';
import type { Clock } from '../platform/process/clock.ts';
import { loadInstance } from './find-instance.ts';
import { type InstanceSettings, settingsOf } from './settings.ts';

export async function readSettings(
  deps: { orm: Orm },
  input: { principal: Principal; instanceId: string },
): Promise<InstanceSettings> {
  const instance = await loadInstance(reachOf(deps.orm, input.principal), input.instanceId);
  return settingsOf(instance.settings);
}

/** Changes the given settings; the owner of the instance is woken, since some of them are its to keep. */
export async function changeSettings(
  deps: { orm: Orm; bus: Bus; clock: Clock },
  input: { principal: Principal; instanceId: string; changes: Partial<InstanceSettings> },
): Promise<InstanceSettings> {
  const settings = await reachOf(deps.orm, input.principal).transactional(async (em) => {
    // Locked: two changes at the same time must not undo each other, the document is written whole.
    const instance = await loadInstance(em, input.instanceId, { lock: true });
    instance.settings = { ...instance.settings, ...input.changes };
    instance.updatedAt = deps.clock.now();
    await em.flush();
    return instance.settings;
  });
  deps.bus.notify('instance', input.instanceId);
  return settingsOf(settings);
}
