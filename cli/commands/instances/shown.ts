import type { Instance } from '@posthorn/sdk/index.ts';
import { fields } from '../../format.ts';

/** The fields of an instance that people want to see; the rest is in the JSON. */
export function shownInstance(instance: Instance): string {
  const { id, name, state, phone, driver, connected_at, last_error, restriction } = instance;
  return fields({
    id,
    name,
    state,
    phone,
    driver,
    connected_at,
    last_error: last_error ?? undefined,
    restriction: restriction ?? undefined,
  });
}
