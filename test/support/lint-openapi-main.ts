import { spawnSync } from 'node:child_process';
import { projectRoot } from './process.ts';

/** Lints the committed OpenAPI documents with Redocly; prints its findings and exits 1 for any. */

const documents = ['openapi/messaging.json', 'openapi/billing.json'];
const { status, stdout, stderr } = spawnSync(
  'node_modules/.bin/redocly',
  ['lint', ...documents, '--config', 'openapi/redocly.yaml', '--max-problems', '1000'],
  {
    cwd: projectRoot,
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  },
);
// Redocly exits with 0 when it has only warnings, e.g. about its configuration.
if (status !== 0 || /\bwarning\b/.test(stdout + stderr)) {
  console.error(stdout + stderr);
  process.exitCode = 1;
}
