/**
 * Builds dist, which is the package as it is published: ESM, CommonJS and types without dependencies, and a manifest of
 * their own, since the one beside this file lets the workspace import the sources. It works on a copy of the sources in
 * which a table of routes and written-out types replace the modules that import the contract. Bundling the contract
 * itself would bring its schemas and their libraries to every user.
 */
import { cpSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkContractTypes, writeContractTypes } from './build/write-contract-types.ts';
import { writeRoutes, writeVersion } from './build/write-tables.ts';
import manifest from './package.json' with { type: 'json' };

const here = import.meta.dirname;
const dist = path.join(here, 'dist');
const stage = path.join(dist, 'src');
const left = ['build.ts', 'routes.ts', 'contract-types.ts', 'client-types.ts', 'version.ts'];

rmSync(dist, { recursive: true, force: true });
mkdirSync(stage, { recursive: true });
for (const file of globSync('*.ts', { cwd: here })) {
  if (!left.includes(file)) cpSync(path.join(here, file), path.join(stage, file));
}
writeFileSync(path.join(stage, 'routes.ts'), writeRoutes());
writeFileSync(path.join(stage, 'version.ts'), writeVersion());
writeFileSync(path.join(stage, 'contract-types.ts'), await writeContractTypes());
checkContractTypes(path.join(stage, 'contract-types.ts'));

// esbuild resolves against the folder that it was loaded in.
process.chdir(here);
const { build } = await import('tsup');
await build({
  // An object: in a list, the path would lose its dot and count as a package.
  entry: { index: './dist/src/index.ts' },
  outDir: dist,
  format: ['esm', 'cjs'],
  target: 'es2022',
  // No module of Node.js may be imported: the same files run in browsers and Workers.
  platform: 'neutral',
  sourcemap: true,
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
cpSync(path.join(here, '../LICENSE'), path.join(dist, 'LICENSE'));
for (const file of ['README.md', 'CHANGELOG.md']) cpSync(path.join(here, file), path.join(dist, file));
writeFileSync(path.join(dist, 'package.json'), `${JSON.stringify(publishedManifest(), null, 2)}\n`);

function publishedManifest(): object {
  const { private: _, scripts: __, devDependencies: ___, exports: ____, ...kept } = manifest;
  return {
    ...kept,
    main: './index.cjs',
    module: './index.js',
    types: './index.d.ts',
    exports: {
      '.': {
        import: { types: './index.d.ts', default: './index.js' },
        require: { types: './index.d.cts', default: './index.cjs' },
      },
      './package.json': './package.json',
    },
    publishConfig: { access: 'public' },
  };
}
