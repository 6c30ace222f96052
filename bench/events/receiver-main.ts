/**
 * An endpoint in its own process that answers 200 immediately; prints its port, and for each line of input
 * the number of requests so far.
 */
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

let received = 0;
const server = createServer((req, res) => {
  req.resume();
  req.on('end', () => {
    received += 1;
    res.writeHead(200, { 'content-length': '2' }).end('ok');
  });
});
server.listen(0, '127.0.0.1', () => {
  console.log((server.address() as { port: number }).port);
});
createInterface({ input: process.stdin })
  .on('line', () => console.log(received))
  .on('close', () => process.exit(0));
