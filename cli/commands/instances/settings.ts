import { ASSIGNMENTS_HELP, parseAssignments } from '../../assignments.ts';
import { defineCommand, many, required } from '../../command.ts';
import { checkFields } from '../../endpoints/call-endpoint.ts';
import { ENDPOINTS } from '../../endpoints/table.ts';
import { fields } from '../../format.ts';
import { namedInstance } from './named.ts';

export const getSettings = defineCommand({
  name: 'instances settings get',
  endpoints: ['instances.getSettings'],
  summary: 'Show the settings',
  args: namedInstance,
  async run(context, { which }) {
    const settings = await context
      .client()
      .instances.getSettings({ instanceId: await context.instanceId(which) });
    context.out.show(settings, fields(settings));
  },
});

export const setSettings = defineCommand({
  name: 'instances settings set',
  endpoints: ['instances.updateSettings'],
  summary: 'Change settings',
  details: `Only the given ones change. ${ASSIGNMENTS_HELP}\nE.g. msgctl instances settings set humanize_enabled=false`,
  args: { settings: required(many('settings', 'e.g. humanize_enabled=false')) },
  async run(context, { settings }) {
    const body = parseSettings(settings);
    const changed = await context
      .client()
      .instances.updateSettings({ instanceId: await context.instanceId(), body });
    context.out.show(changed, fields(changed));
  },
});

/** The settings that are written as name=value. Throws UsageError for one that is none; the service judges the values. */
export function parseSettings(items: readonly string[]): Record<string, boolean> {
  const settings = parseAssignments(items) as Record<string, boolean>;
  const endpoint = ENDPOINTS.find(({ name }) => name === 'instances.updateSettings');
  if (endpoint) checkFields(endpoint, Object.keys(settings));
  return settings;
}
