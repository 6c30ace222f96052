import { DEFAULT_SETTINGS, type InstanceSettings, settings } from '@posthorn/contract/messaging/instances.ts';

export type { InstanceSettings };
export { DEFAULT_SETTINGS };

const NAMES = Object.keys(DEFAULT_SETTINGS) as (keyof InstanceSettings)[];

/**
 * The settings in force: what is stored in `instances.settings` over the defaults. Only what was set is
 * stored, so a new setting or a changed default reaches every instance that never chose. A stored value that the
 * contract no longer takes gives way to the default.
 */
export function settingsOf(stored: unknown): InstanceSettings {
  const chosen = (stored ?? {}) as Partial<Record<keyof InstanceSettings, unknown>>;
  const inForce = { ...DEFAULT_SETTINGS };
  for (const name of NAMES) if (chosen[name] !== undefined) take(inForce, name, chosen[name]);
  return inForce;
}

function take<Name extends keyof InstanceSettings>(into: InstanceSettings, name: Name, value: unknown): void {
  const parsed = settings.shape[name].safeParse(value);
  if (parsed.success) into[name] = parsed.data as InstanceSettings[Name];
}
