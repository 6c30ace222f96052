/**
 * `node openapi/generate.ts` writes openapi/messaging.json; with `--check` it writes nothing and exits 1
 * when the committed file is not what the contract gives.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { messagingDocument } from './document.ts';

const FILE = new URL('./messaging.json', import.meta.url);
const text = await messagingDocument();

if (!process.argv.includes('--check')) {
  await writeFile(FILE, text);
} else if ((await readFile(FILE, 'utf8').catch(() => '')) !== text) {
  console.error('openapi/messaging.json is not what the contract gives: run `npm run openapi` and commit it');
  process.exitCode = 1;
}
