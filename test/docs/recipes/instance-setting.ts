import type { Edit, TestRun } from './edits.ts';

/** "Add an instance setting" with its own example, `typing_max_seconds`. */
export const instanceSettingEdits: readonly Edit[] = [
  {
    file: 'contract/messaging/instances.ts',
    before: '    reject_calls: z.boolean(),\n',
    add: '    typing_max_seconds: z.int().min(0).max(3_600),\n',
  },
  {
    file: 'contract/messaging/instances.ts',
    before: '  reject_calls: false,\n',
    add: '  typing_max_seconds: 3_600,\n',
  },
  {
    file: 'contract/field-docs/messaging.ts',
    before: '  reject_calls: [',
    add: "  typing_max_seconds: ['The longest time that a text is typed, in seconds', 3_600],\n",
  },
  {
    file: 'worker/dispatch/send-task.ts',
    replace: "  const forMs = typingMs(String(task.content.text ?? ''), deps.random(), scope.typingMaxMs);\n",
    by: `  const maxMs = Math.min(scope.typingMaxMs, task.settings.typing_max_seconds * 1_000);
  const forMs = typingMs(String(task.content.text ?? ''), deps.random(), maxMs);
`,
  },
  {
    file: 'docs/reference/instances.md',
    replace: '`store_media` (true). Only',
    by: '`store_media` (true), `typing_max_seconds` (3600). Only',
  },
  {
    file: 'test/instances/lifecycle.test.ts',
    before: '      reject_calls: false,\n',
    add: '      typing_max_seconds: 3_600,\n',
  },
  {
    file: 'test/instances/settings.test.ts',
    before: "  test('humanize: each send follows",
    add: `  test('typing_max_seconds: a long text is typed no longer than that', async () => {
    const instance = await sending.connect({ humanize_enabled: true });
    await change(instance, { typing_max_seconds: 1 });
    assert.equal((await sending.call(instance, 'GET', '/settings')).body.typing_max_seconds, 1);
    await sending.send(instance, '/messages/text', { to: sending.newPhone(), text: LONG });
    await waitFor(async () => (await ledgerOf(instance)).length === 1, 20_000);
  });

`,
  },
];

/** Tests that then have to pass: its default, and its effect once the change is answered. */
export const instanceSettingTests: readonly TestRun[] = [
  {
    files: ['test/instances/lifecycle.test.ts', 'test/instances/settings.test.ts'],
    named: 'settings begin with the defaults|typing_max_seconds',
    passes: 'a long text is typed no longer',
  },
];
