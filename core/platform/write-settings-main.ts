/** `npm run settings`: writes `docs/settings.md`. */
import { writeFile } from 'node:fs/promises';
import { settingsDocument } from './settings-document.ts';

await writeFile(new URL('../../docs/settings.md', import.meta.url), settingsDocument());
