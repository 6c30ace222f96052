/** The build writes the version out in place of this module. */
import manifest from './package.json' with { type: 'json' };

export const VERSION: string = manifest.version;
