import { DEFAULT_SETTINGS, type InstanceSettings } from '@posthorn/contract/messaging/instances.ts';

export type { InstanceSettings };
export { DEFAULT_SETTINGS };

const NAMES = Object.keys(DEFAULT_SETTINGS) as (keyof InstanceSettings)[];

/**
 * The settings in force: what is stored in `instances.settings` over the defaults. Only what was set is
 * stored, so a new setting or a changed default reaches every instance that never chose.
 */
export function settingsOf(stored: unknown): InstanceSettings {
  const chosen = (stored ?? {}) as Partial<Record<keyof InstanceSettings, unknown>>;
  const settings = { ...DEFAULT_SETTINGS };
  for (const name of NAMES) if (typeof chosen[name] === 'boolean') settings[name] = chosen[name];
  return settings;
}
