/**
 * Many streams of one company in a process of their own: `<url> <api key> <cursor> <streams> <bytes of each>`. Every
 * fifth stream reads nothing. Prints `done` once the others have read so many bytes, and stays connected.
 */
import { connect } from 'node:net';

const [url, apiKey, cursor, streams, bytes] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];
let missing = 0;
for (let nth = 0; nth < Number(streams); nth += 1) {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  socket.write(`GET /v1/events/stream?after=${cursor} HTTP/1.1\r\nhost: x\r\nx-api-key: ${apiKey}\r\n\r\n`);
  if (nth % 5 === 4) {
    socket.pause();
    continue;
  }
  missing += 1;
  let received = 0;
  socket.on('data', (chunk) => {
    const was = received;
    received += chunk.length;
    if (was < Number(bytes) && received >= Number(bytes)) missing -= 1;
    if (was < Number(bytes) && missing === 0) console.log('done');
  });
}
