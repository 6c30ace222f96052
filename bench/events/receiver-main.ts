/**
 * An endpoint that answers 200 at once, in a process of its own; prints its port, and on each line of
 * input the number of requests so far.
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
