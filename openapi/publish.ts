/** `npm run openapi:publish`, at a release: the current documents become the published ones. */
import { copyFile, mkdir, writeFile } from 'node:fs/promises';

await mkdir(new URL('published/', import.meta.url), { recursive: true });
for (const name of ['messaging.json', 'billing.json'])
  await copyFile(new URL(name, import.meta.url), new URL(`published/${name}`, import.meta.url));
await writeFile(new URL('breaking-changes.json', import.meta.url), '[]\n');
