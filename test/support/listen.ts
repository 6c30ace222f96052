import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';

/** Opens a server of a test on 127.0.0.1, on a free port unless one is named, and gives the port. */
export async function listen(server: Server, port = 0): Promise<number> {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}
