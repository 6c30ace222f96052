import { text } from '../../command.ts';

/** `[instance]`, which commands on one instance take in place of --instance. */
export const namedInstance = { which: text('instance', 'its id or name; default the remembered one') };
