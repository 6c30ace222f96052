import type { UpdateSettingsBody } from '@posthorn/sdk/index.ts';
import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { defineCommand, many, required } from '../../command.ts';
import { checkFields, endpointNamed } from '../../endpoints/call-endpoint.ts';
import { fields } from '../../format.ts';

export const setSettings = defineCommand({
  name: 'instances settings set',
  endpoints: ['instances.updateSettings'],
  summary: 'Change settings',
  details: `Other settings stay as they are. ${ASSIGNMENTS_HELP}\nE.g. msgctl instances settings set humanize_enabled=false`,
  args: { settings: required(many('settings', 'e.g. humanize_enabled=false')) },
  async run(context, { settings }) {
    const body = parseSettings(settings);
    const changed = await context
      .client()
      .instances.updateSettings({ instanceId: await context.instanceId(), body });
    context.out.show(changed, fields(changed));
  },
});

/** Parses settings written as name=value. Throws UsageError for an unknown name; the service checks the values. */
export function parseSettings(items: readonly string[]): UpdateSettingsBody {
  const settings = parseAssignments(items);
  checkFields(endpointNamed('instances.updateSettings'), Object.keys(settings));
  return settings;
}
