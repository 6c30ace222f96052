/**
 * Builds dist: ESM, CommonJS and types without dependencies. It works on a copy of the sources in which
 * the two modules that know the contract are replaced by what they amount to: a table of routes and types
 * written out. Bundling the contract itself would bring its schemas and their libraries to every user.
 */
import { cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { build } from 'tsup';
import { checkContractTypes, writeContractTypes } from './build/write-contract-types.ts';
import { billingRoutes, messagingRoutes } from './routes.ts';

const here = import.meta.dirname;
const dist = path.join(here, 'dist');
const stage = path.join(dist, 'stage');
const left = ['build.ts', 'routes.ts', 'contract-types.ts', 'client-types.ts'];

rmSync(dist, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
for (const file of globSync('*.ts', { cwd: here })) {
  if (!left.includes(file)) cpSync(path.join(here, file), path.join(stage, file));
}
writeFileSync(path.join(stage, 'routes.ts'), writeRoutes());
writeFileSync(path.join(stage, 'contract-types.ts'), writeContractTypes());
checkContractTypes(path.join(stage, 'contract-types.ts'));

process.chdir(here);
await build({
  entry: [path.join(stage, 'index.ts')],
  outDir: dist,
  format: ['esm', 'cjs'],
  target: 'node20',
  platform: 'node',
  config: false,
  silent: true,
  dts: {
    compilerOptions: {
      module: 'nodenext',
      moduleResolution: 'nodenext',
      allowImportingTsExtensions: true,
      strict: true,
      types: ['node'],
      incremental: false,
    },
  },
});
rmSync(stage, { recursive: true });

function writeRoutes(): string {
  const tables = Object.entries({ messagingRoutes, billingRoutes });
  return [
    "import type { RouteTable } from './route-spec.ts';",
    ...tables.map(([name, table]) => `export const ${name}: RouteTable = ${JSON.stringify(table, null, 2)};`),
  ].join('\n\n');
}
