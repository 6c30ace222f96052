import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { projectRoot } from './process.ts';

/**
 * `npm run check`: types, lint and import rules, unused code, the structure of the sources and the documents, and
 * whether the committed OpenAPI documents match the contract and lint clean. All checks run at the same time; only
 * failures are shown at length.
 */

const bin = (name: string) => `node_modules/.bin/${name}`;
const checks: readonly { name: string; command: readonly string[] }[] = [
  { name: 'types', command: [bin('tsc'), '--noEmit', '-p', 'tsconfig.json'] },
  { name: 'types of the console', command: [bin('tsc'), '--noEmit', '-p', 'console/tsconfig.json'] },
  { name: 'lint', command: [bin('biome'), 'check', '--error-on-warnings', '.'] },
  { name: 'unused code', command: [bin('knip'), '--no-progress'] },
  {
    name: 'structure and documents',
    command: [
      process.execPath,
      '--test',
      '--test-reporter=dot',
      'test/structure/*.test.ts',
      'test/docs/reference.test.ts',
    ],
  },
  { name: 'OpenAPI', command: [process.execPath, 'openapi/generate.ts', '--check'] },
  { name: 'OpenAPI against the published', command: [process.execPath, 'openapi/check-breaking.ts'] },
  { name: 'OpenAPI linter', command: [process.execPath, 'test/support/lint-openapi-main.ts'] },
];

const results = await Promise.all(checks.map(check));
process.exitCode = results.every(Boolean) ? 0 : 1;

async function check({ name, command }: (typeof checks)[number]): Promise<boolean> {
  const since = performance.now();
  const [program, ...args] = command as [string, ...string[]];
  const child = spawn(program, args, { cwd: projectRoot, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = new Promise<number | null>((resolve) => {
    child.once('close', resolve);
    child.once('error', () => resolve(null));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  if (code === 0) console.log(`ok    ${name} (${seconds} s)`);
  else console.log(`FAIL  ${name} (${seconds} s)\n${stdout}${stderr}`);
  return code === 0;
}
