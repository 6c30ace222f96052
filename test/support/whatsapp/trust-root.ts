/** Loaded into a worker before its program: it trusts the simulated network that `WHATSAPP_TEST_ROOT` (base64) names. */
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';

const root = process.env.WHATSAPP_TEST_ROOT;
if (root && process.argv[1]?.endsWith('worker/main.ts'))
  trustRoot(await loadLibrary(), Buffer.from(root, 'base64'));
