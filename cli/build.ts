/**
 * `node build.ts [--metafile <file>]`: builds dist, which is the package as it is published: msgctl as one bundle over
 * the built SDK, without dependencies, in pieces that are loaded when a command needs them. It works on a copy of the
 * sources in which finished tables replace the modules that read the contract. The metafile lists the contents of each
 * piece.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Options } from 'tsup';
import { type Metafile, thirdPartyNotices } from './build/third-party-notices.ts';
import { ENDPOINTS } from './endpoints/table.ts';
import { EVENT_NAMES } from './event-names.ts';
import { TOOLS } from './mcp/tool-table.ts';
import manifest from './package.json' with { type: 'json' };

const { values } = parseArgs({ options: { metafile: { type: 'string' } } });
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
// Written as JSON text, which is faster to parse than a program is to run.
for (const [file, name, table] of [
  ['endpoints/table.ts', 'ENDPOINTS', ENDPOINTS],
  ['mcp/tool-table.ts', 'TOOLS', TOOLS],
  ['event-names.ts', 'EVENT_NAMES', EVENT_NAMES],
] as const)
  writeFileSync(
    path.join(stage, file),
    `export const ${name} = JSON.parse(${JSON.stringify(JSON.stringify(table))});\n`,
  );

// Replaces modules that packages import and msgctl never uses: see the aliases.
const absent = path.join(stage, 'absent.js');
writeFileSync(
  absent,
  `function absent() { throw new Error('this is no part of msgctl'); }
export { absent as default, absent as object, absent as zodToJsonSchema };
`,
);
const REQUIRE =
  "import{createRequire as posthornRequire}from'node:module';const require=posthornRequire(import.meta.url);";

type Plugin = NonNullable<Options['esbuildPlugins']>[number];

/** Writes the layout engine of Ink to a file of its own: as text within the program it compresses a third worse. */
const wasmAside: Plugin = {
  name: 'wasm-aside',
  setup(builder) {
    builder.onLoad({ filter: /yoga-wasm-base64-esm\.js$/ }, ({ path: file }) => {
      const source = readFileSync(file, 'utf8');
      const found = /"(data:application\/octet-stream;base64,)([\w+/=]+)"/.exec(source);
      if (!found) throw new Error(`${file} does not contain its WebAssembly as it used to`);
      const [literal, head, base64] = found as unknown as [string, string, string];
      writeFileSync(path.join(dist, 'yoga.wasm'), Buffer.from(base64, 'base64'));
      const read = `"${head}" + readAside(new URL('yoga.wasm', import.meta.url), 'base64')`;
      const contents = `import { readFileSync as readAside } from 'node:fs';\n${source.replace(literal, () => read)}`;
      return { contents, loader: 'js' };
    });
  },
};

const built: { metafile?: Metafile } = {};
const keepMetafile: Plugin = {
  name: 'keep-metafile',
  setup(builder) {
    builder.onEnd((result) => {
      built.metafile = result.metafile;
    });
  },
};

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
  esbuildPlugins: [wasmAside, keepMetafile],
  esbuildOptions(options) {
    options.alias = {
      '@posthorn/sdk/index.ts': path.join(sdk, 'dist/index.js'),
      // Ink loads it for debugging, when an environment variable asks for it.
      'react-devtools-core': absent,
      // An MCP server validates its client's answers with it; ours asks the client nothing.
      ajv: absent,
      'ajv-formats': absent,
      // For tools described by schemas of zod 3; ours are JSON Schema already.
      'zod/v3': absent,
      'zod-to-json-schema': absent,
    };
    // React's production build, which is a fifth of the size.
    options.define = {
      ...options.define,
      'process.env.NODE_ENV': '"production"',
      'process.env.DEV': '"false"',
    };
    // Some dependencies of Ink are CommonJS and require modules of Node.js.
    options.banner = { js: REQUIRE };
  },
});
const { metafile } = built;
if (!metafile) throw new Error('esbuild did not say what it bundled');
if (values.metafile) writeFileSync(values.metafile, JSON.stringify(metafile));
writeFileSync(path.join(dist, 'THIRD-PARTY-NOTICES'), `${thirdPartyNotices(metafile, here)}\n`);
rmSync(stage, { recursive: true });
chmodSync(path.join(dist, 'msgctl.js'), 0o755);
cpSync(path.join(here, '../LICENSE'), path.join(dist, 'LICENSE'));
for (const file of ['README.md', 'CHANGELOG.md']) cpSync(path.join(here, file), path.join(dist, file));
const { name, version, description, license, repository } = manifest;
const published = {
  ...{ name, version, description, license, repository },
  type: 'module',
  engines: { node: '>=20.16' },
  bin: { msgctl: 'msgctl.js' },
  exports: { './package.json': './package.json' },
  publishConfig: { access: 'public' },
};
writeFileSync(path.join(dist, 'package.json'), `${JSON.stringify(published, null, 2)}\n`);
