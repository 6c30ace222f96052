// Plain JavaScript: `npm ci` runs it with whatever Node the machine has.
import { copyFileSync, mkdirSync } from 'node:fs';

/**
 * Copies Scalar's browser build to the place from which `GET /docs` serves it. Scalar and its dependencies are installed
 * for development alone: without them this does nothing, and an earlier copy stays.
 */
const scalar = locateScalar();
if (scalar !== undefined) {
  mkdirSync(new URL('../dist/', import.meta.url), { recursive: true });
  copyFileSync(new URL('browser/standalone.js', scalar), new URL('../dist/reference.js', import.meta.url));
}

function locateScalar() {
  try {
    return import.meta.resolve('@scalar/api-reference');
  } catch {
    return undefined;
  }
}
