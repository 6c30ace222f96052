import type { Edit, TestRun } from './edits.ts';

/** "Add a setting" with its own example, `FEEDBACK_RETENTION_DAYS`. */
export const settingEdits: readonly Edit[] = [
  {
    file: 'core/platform/config.ts',
    before: '  MEDIA_MEMORY_MB: positive.default(128),\n',
    add: '  FEEDBACK_RETENTION_DAYS: days.default(365),\n',
  },
  {
    file: 'core/platform/setting-docs.ts',
    before: '    METRICS_TOKEN: {',
    add: "    FEEDBACK_RETENTION_DAYS: { meaning: 'days that feedback is kept after it was done' },\n",
  },
  {
    file: 'worker/roles.ts',
    replace: 'retentionDays: 365 }',
    by: 'retentionDays: parts.config.FEEDBACK_RETENTION_DAYS }',
  },
];

/** Tests that then have to pass: the setting is described, with its default, and the file is written. */
export const settingTests: readonly TestRun[] = [
  { files: ['test/packages/settings.test.ts'], passes: 'describes every setting of the schema once' },
];
