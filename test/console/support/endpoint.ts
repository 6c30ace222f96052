import { createServer } from 'node:http';
import { listen } from '../../support/listen.ts';

/** A webhook's endpoint that fails until the test repairs it. */
export interface Endpoint {
  url: string;
  mend(): void;
  close(): void;
}

export async function startEndpoint(broken: string): Promise<Endpoint> {
  let isBroken = true;
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => {
      response.writeHead(isBroken ? 500 : 200);
      response.end(isBroken ? broken : 'thank you');
    });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/hook`,
    mend() {
      isBroken = false;
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
