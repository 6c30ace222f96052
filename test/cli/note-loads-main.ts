/** Loaded before a program: writes down the address of every module that it loads, into the file NOTE_LOADS_IN. */
import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const noted = process.env.NOTE_LOADS_IN;
if (noted)
  registerHooks({
    load(url, context, nextLoad) {
      appendFileSync(noted, `${url}\n`);
      return nextLoad(url, context);
    },
  });
