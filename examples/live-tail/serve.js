// Serves the page of this folder, which shows events as they happen.
//
//   npm install
//   node serve.js
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';

const PORT = Number(process.env.PORT ?? 9001);

// The page, its program, and the SDK as the browser loads it. No other file of this folder is served.
const files = {
  '/': { file: 'index.html', type: 'text/html; charset=utf-8' },
  '/tail.js': { file: 'tail.js', type: 'text/javascript; charset=utf-8' },
  '/sdk.js': { file: 'node_modules/@posthorn/sdk/index.js', type: 'text/javascript; charset=utf-8' },
};

const server = createServer(async (req, res) => {
  const found = files[new URL(req.url, 'http://localhost').pathname];
  if (!found) {
    res.writeHead(404).end();
    return;
  }
  try {
    const body = await readFile(new URL(found.file, import.meta.url));
    res.writeHead(200, { 'content-type': found.type }).end(body);
  } catch {
    res.writeHead(500).end(`${found.file} is missing: run npm install`);
  }
});

server.listen(PORT, '127.0.0.1', () => console.log(`open http://127.0.0.1:${server.address().port}/`));
