/** What a company may set for one instance (design 7, "settings"). Names are those of the API. */
export interface InstanceSettings {
  /** Every send is refused unless forced (spec 4.2 rule 7). */
  passive_mode_enabled: boolean;
  /** The duplicate rule, and with it the consecutive-sends rules (spec 4.2 rule 8). */
  anti_spam_guard_enabled: boolean;
  /** Consecutive sends are limited by the contact's temperature, not by the fixed number. */
  anti_spam_temperature_enabled: boolean;
  /** Typing and a pause before one-to-one texts. */
  humanize_enabled: boolean;
  reject_calls: boolean;
  ignore_groups: boolean;
  always_online: boolean;
  auto_read: boolean;
  /** Media received is stored and gets a media_id. */
  store_media: boolean;
}

export const DEFAULT_SETTINGS: Readonly<InstanceSettings> = Object.freeze({
  passive_mode_enabled: false,
  anti_spam_guard_enabled: true,
  anti_spam_temperature_enabled: true,
  humanize_enabled: true,
  reject_calls: false,
  ignore_groups: false,
  always_online: false,
  auto_read: false,
  store_media: true,
});

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
