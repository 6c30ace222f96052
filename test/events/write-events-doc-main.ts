/** Writes docs/events.md anew, after an event or its example has changed. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { projectRoot } from '../support/process.ts';
import { renderEventsDoc } from './events-doc.ts';

writeFileSync(path.join(projectRoot, 'docs/events.md'), renderEventsDoc());
