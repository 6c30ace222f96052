/**
 * `node openapi/generate.ts` writes the documents; with `--check` it writes nothing and exits 1 if a
 * committed file differs from the contract.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { billingDocument, messagingDocument } from './document.ts';

const DOCUMENTS = { 'messaging.json': messagingDocument, 'billing.json': billingDocument };

for (const [name, make] of Object.entries(DOCUMENTS)) {
  const file = new URL(name, import.meta.url);
  const text = await make();
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8').catch(() => '')) !== text) {
    console.error(`openapi/${name} is not what the contract gives: run \`npm run openapi\` and commit it`);
    process.exitCode = 1;
  }
}
