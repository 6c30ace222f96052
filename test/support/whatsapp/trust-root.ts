/**
 * Loaded before the program of a worker, or of the whole system in one process: it trusts the simulated network that
 * `WHATSAPP_TEST_ROOT` (base64) names.
 */
import { loadLibrary, trustRoot } from '@posthorn/network/whatsapp/library.ts';

const root = process.env.WHATSAPP_TEST_ROOT;
if (root && /(worker\/main\.ts|standalone\/main\.js)$/.test(process.argv[1] ?? ''))
  trustRoot(await loadLibrary(), Buffer.from(root, 'base64'));
