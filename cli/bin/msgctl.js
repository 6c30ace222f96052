#!/usr/bin/env node
// Runs main.ts, which needs a Node that reads TypeScript. On an older one it starts itself again with the
// Node that npm installed next to the project, so plain JavaScript of the year 2020 is all this file uses.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);

if (major > 22 || (major === 22 && minor >= 18)) {
  const { main } = await import('../main.ts');
  await main(process.argv.slice(2));
} else {
  const pinned = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url));
  if (!existsSync(pinned)) {
    console.error(`msgctl: needs Node.js 22.18 or newer, this is ${process.versions.node}`);
    process.exit(1);
  }
  const self = fileURLToPath(import.meta.url);
  const child = spawn(pinned, [self, ...process.argv.slice(2)], { stdio: 'inherit' });
  // The terminal signals both; a kill of this process alone has to be passed on.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`msgctl: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
