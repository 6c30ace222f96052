// Plain JavaScript and node:http: run every few seconds in each container, it takes half the processor of TypeScript and fetch.
import { get } from 'node:http';

/**
 * `posthorn healthy [path]`: asks the role that runs in the same container at `/health`, or at the given path, and exits
 * with 0 when it answers 200. A container runs one role, so the first port on which somebody listens is that role's.
 */
const TIMEOUT_MS = 4_000;
const { env } = process;
const ports = [
  env.PORT || '8080',
  env.BILLING_PORT || '8081',
  env.WORKER_PORT || '8082',
  env.SANDBOX_PORT || '8090',
];
process.exitCode = await askFirst(process.argv[2] ?? '/health');

async function askFirst(path) {
  for (const port of ports) {
    const { status, text, code } = await ask(port, path);
    if (status === 200) return 0;
    if (code === 'ECONNREFUSED') continue;
    console.error(`port ${port}: ${status ?? code} ${text ?? ''}`);
    return 1;
  }
  console.error(`nothing listens on the ports ${ports.join(', ')}`);
  return 1;
}

/** Resolves with the answer, or with the code of what went wrong. */
function ask(port, path) {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const request = get({ host: '127.0.0.1', port, path, signal, agent: false }, async (answer) => {
      let text = '';
      for await (const chunk of answer.setEncoding('utf8')) text += chunk;
      resolve({ status: answer.statusCode, text });
    });
    request.on('error', (err) => resolve({ code: err.code ?? err.message }));
  });
}
