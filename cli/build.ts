/**
 * Builds dist, which is the package as it is published: msgctl as one bundle over the built SDK, without dependencies.
 * It works on a copy of the sources in which the module that reads the contract is replaced by what it amounts to.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ENDPOINTS } from './endpoints/table.ts';
import { EVENT_NAMES } from './event-names.ts';
import { TOOLS } from './mcp/tool-table.ts';
import manifest from './package.json' with { type: 'json' };

const here = import.meta.dirname;
const dist = path.join(here, 'dist');
const stage = path.join(dist, 'src');
const sdk = path.join(here, '../sdk');

execFileSync(process.execPath, [path.join(sdk, 'build.ts')], { stdio: 'inherit' });
rmSync(dist, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
const sources = globSync('**/*.ts', { cwd: here, exclude: ['dist', 'node_modules'] });
for (const file of sources) cpSync(path.join(here, file), path.join(stage, file));
const entry = path.join(stage, 'entry.ts');
writeFileSync(entry, `#!/usr/bin/env node\n${readFileSync(entry, 'utf8')}`);
writeFileSync(path.join(stage, 'version.ts'), `export const VERSION: string = '${manifest.version}';\n`);
// As text: parsing JSON is faster than running it as a program.
for (const [file, name, table] of [
  ['endpoints/table.ts', 'ENDPOINTS', ENDPOINTS],
  ['mcp/tool-table.ts', 'TOOLS', TOOLS],
  ['event-names.ts', 'EVENT_NAMES', EVENT_NAMES],
] as const)
  writeFileSync(
    path.join(stage, file),
    `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(table))});\n`,
  );

const noDevtools = path.join(stage, 'no-devtools.js');
writeFileSync(noDevtools, 'export default {};\n');
const REQUIRE =
  "import{createRequire as posthornRequire}from'node:module';const require=posthornRequire(import.meta.url);";

// esbuild resolves against the folder that it was loaded in.
process.chdir(here);
const { build } = await import('tsup');
await build({
  entry: { msgctl: entry },
  outDir: dist,
  format: ['esm'],
  target: 'node20',
  platform: 'node',
  splitting: true,
  sourcemap: false,
  config: false,
  silent: true,
  noExternal: [/.*/],
  minify: true,
  esbuildOptions(options) {
    options.alias = {
      '@posthorn/sdk/index.ts': path.join(sdk, 'dist/index.js'),
      // Ink's window for React's developers, which it opens when asked to by a variable.
      'react-devtools-core': noDevtools,
    };
    // React as it is for users, which is also a fifth of its size.
    options.define = {
      ...options.define,
      'process.env.NODE_ENV': '"production"',
      'process.env.DEV': '"false"',
    };
    // Some of what Ink stands on is CommonJS, and asks for modules of Node.
    options.banner = { js: REQUIRE };
  },
});
rmSync(stage, { recursive: true });
chmodSync(path.join(dist, 'msgctl.js'), 0o755);
cpSync(path.join(here, '../LICENSE'), path.join(dist, 'LICENSE'));
for (const file of ['README.md', 'CHANGELOG.md']) cpSync(path.join(here, file), path.join(dist, file));
const { name, version, description, license } = manifest;
const published = {
  ...{ name, version, description, license },
  type: 'module',
  engines: { node: '>=20.16' },
  bin: { msgctl: 'msgctl.js' },
  exports: { './package.json': './package.json' },
  publishConfig: { access: 'public' },
};
writeFileSync(path.join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
