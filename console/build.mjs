// Plain JavaScript: `npm ci` runs it with whatever Node the machine has.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

/**
 * Builds the console into the place from which the messaging service serves `/console`. Its tools are development
 * dependencies: without them it does nothing, and an earlier build stays.
 */
const target = fileURLToPath(new URL('../server/dist/console/', import.meta.url));
if (isInstalled('vite') && isInstalled('@vitejs/plugin-react')) {
  await buildPages();
  compressFiles(`${target}assets/`);
}

async function buildPages() {
  const { build } = await import('vite');
  const { default: react } = await import('@vitejs/plugin-react');
  await build({
    configFile: false,
    root: fileURLToPath(new URL('./', import.meta.url)),
    // The service writes the base and the nonce into each page that it answers.
    base: './',
    html: { cspNonce: '__NONCE__' },
    plugins: [react(), writtenTables()],
    logLevel: 'warn',
    build: {
      outDir: target,
      emptyOutDir: true,
      target: 'es2022',
      // Inlined as data: URLs, pictures would not be hashed, and fonts would need a looser policy.
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 700,
    },
  });
}

/**
 * Builds against the SDK as its package has it: the table of routes and the version written out, without the schemas of
 * the contract and their libraries.
 */
function writtenTables() {
  const sdk = fileURLToPath(new URL('../sdk/', import.meta.url));
  return {
    name: 'written-tables',
    async load(id) {
      if (id !== `${sdk}routes.ts` && id !== `${sdk}version.ts`) return null;
      const { writeRoutes, writeVersion } = await import('../sdk/build/write-tables.ts');
      return id === `${sdk}routes.ts` ? writeRoutes() : writeVersion();
    },
  };
}

function compressFiles(folder) {
  for (const name of readdirSync(folder)) {
    const bytes = readFileSync(folder + name);
    writeFileSync(`${folder}${name}.gz`, gzipSync(bytes, { level: 9 }));
    const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(`${folder}${name}.br`, brotliCompressSync(bytes, { params }));
  }
}

function isInstalled(name) {
  try {
    import.meta.resolve(name);
    return true;
  } catch {
    return false;
  }
}
