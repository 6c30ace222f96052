import { spawnSync } from 'node:child_process';
import { projectRoot } from './process.ts';

/** Lints the committed OpenAPI documents with Redocly and Spectral; prints what they find and exits 1 for anything. */

const documents = ['openapi/messaging.json', 'openapi/billing.json'];
const linters: readonly (readonly string[])[] = [
  ['redocly', 'lint', ...documents, '--config', 'openapi/redocly.yaml', '--max-problems', '1000'],
  ['spectral', 'lint', ...documents, '--ruleset', 'openapi/spectral.yaml', '--fail-severity', 'hint'],
];

for (const [program, ...args] of linters) {
  const { status, stdout, stderr } = spawnSync(`node_modules/.bin/${program}`, args, {
    cwd: projectRoot,
    encoding: 'utf8',
    env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  });
  // Redocly exits with 0 when all it has is warnings.
  if (status === 0 && !/\bwarning\b/.test(stdout + stderr)) continue;
  console.error(stdout + stderr);
  process.exitCode = 1;
}
