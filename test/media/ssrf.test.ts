import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { FetchFailed, fetchMedia } from '@posthorn/core/media/fetch-media.ts';
import { NETWORK_DOMAINS } from '@posthorn/core/media/open-media.ts';
import { createOutbound, type Outbound, type Resolver } from '@posthorn/core/platform/http/outbound-http.ts';
import { listen } from '../support/listen.ts';
import { type MediaServer, startMediaServer } from './support.ts';

/** Connections that got through: it listens on every address of this machine, IPv4 and IPv6. */
let reached = 0;
let canary: Server;
let port: number;
/** Takes the place of a public file server: the one private origin that the operator has allowed. */
const redirects = new Map<string, string>();
const allowed = createHttpServer((request, response) => {
  const to = redirects.get(request.url!);
  if (to === undefined) return response.writeHead(200).end('%PDF-1.4 fine');
  // Names in other scripts go over the wire as bytes.
  return response.writeHead(302, { location: Buffer.from(to).toString('latin1') }).end();
});
let allowedHost: string;
let media: MediaServer;

before(async () => {
  canary = createServer((socket) => {
    reached += 1;
    socket.end('HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n%PDF-1.4');
  });
  // Requests to 8080 and 8443 are allowed in production, so the canary listens on one of them.
  port = await listenOnAny(canary, [8080, 8443]);
  allowedHost = `127.0.0.1:${await listen(allowed)}`;
  media = await startMediaServer({ MEDIA_PRIVATE_HOSTS: allowedHost });
});
after(async () => {
  await media.close();
  allowed.close();
  canary.close();
});

/** The first free one of these ports, else any: then every address is also refused for its port. */
async function listenOnAny(server: Server, ports: number[]): Promise<number> {
  for (const wanted of [...ports, 0]) {
    const bound = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(wanted, '::', () => resolve(true));
    });
    if (bound) return (server.address() as AddressInfo).port;
  }
  throw new Error('no port is free');
}

/** Hosts, without scheme and port. Every one of them is this machine, a private network or no address at all. */
const FORBIDDEN = [
  // Loopback and this host, in every notation that some parser takes.
  ...['127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '127.255.255.254', '0.0.0.0', '0', '00.00.00.00', '0x0'],
  ...[
    '2130706433',
    '0x7f000001',
    '0x7F.0.0.1',
    '017700000001',
    '0177.0.0.1',
    '0177.0.0.01',
    '0x7f.1',
    '127.0.0.1.',
  ],
  ...[
    '00000177.0.0.1',
    '0x000007f.0x0.0x0.0x1',
    '127.0x0.0.1',
    '%31%32%37.0.0.1',
    '１２７.0.0.1',
    '①②⑦.0.0.1',
    '127。0。0。1',
  ],
  ...['localhost', 'LOCALHOST', 'localhost.', 'a.localhost', 'ⓛocalhost'],
  // Private, shared, link-local and metadata.
  ...[
    '10.0.0.1',
    '10.255.255.255',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '192.168.255.254',
    '100.64.0.1',
  ],
  ...['169.254.169.254', '169.254.170.2', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376', '169.254.43518'],
  ...['100.100.100.200', '192.0.0.192', '168.63.129.16'],
  // Broadcast, multicast, reserved, documentation.
  ...[
    '255.255.255.255',
    '224.0.0.1',
    '239.255.255.250',
    '240.0.0.1',
    '192.0.2.1',
    '198.18.0.1',
    '198.51.100.7',
  ],
  ...['203.0.113.9', '192.88.99.1'],
  // IPv6: loopback, unspecified, mapped, compatible, NAT64, 6to4, Teredo, local, link-local, multicast.
  ...[
    '[::1]',
    '[::]',
    '[0:0:0:0:0:0:0:1]',
    '[0000::0001]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::127.0.0.1]',
  ],
  ...[
    '[::ffff:10.0.0.1]',
    '[::ffff:a9fe:a9fe]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::a00:1]',
  ],
  ...[
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2002:a9fe:a9fe::1]',
    '[2002:c0a8:1::1]',
    '[2001::1]',
    '[2001:0:7f00:1::]',
  ],
  ...[
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[febf::1]',
    '[fec0::1]',
    '[ff02::1]',
    '[ff0e::1]',
    '[2001:db8::1]',
  ],
  ...['[100::1]', '[3fff::1]', '[5f00::1]', '[::ffff:169.254.169.254]', '[fe80::1%25eth0]'],
];

test('the canary server notices every connection', async () => {
  const unguarded = createOutbound({ allowPrivate: true });
  for (const host of ['127.0.0.1', '[::1]']) {
    const { body } = await fetchMedia(
      { outbound: unguarded },
      `http://${host}:${port}/`,
      AbortSignal.timeout(30_000),
    );
    for await (const _ of body);
  }
  await unguarded.close();
  assert.equal(reached, 2);
  reached = 0;
});

describe('an address inside', () => {
  test('is refused in each of its spellings, and receives no connection', async () => {
    assert.ok(FORBIDDEN.length >= 60);
    for (const host of FORBIDDEN) {
      for (const url of [`http://${host}:${port}/a.pdf`, `https://user:pw@${host}:${port}/`]) {
        const answer = await upload(url);
        assert.deepEqual([answer.status, answer.body.error_code], [502, 'MEDIA_FETCH_FAILED'], url);
      }
    }
    assert.equal(reached, 0);
  });

  test('is refused under other schemes too', async () => {
    for (const url of [
      'file:///etc/passwd',
      'ftp://127.0.0.1/a',
      'gopher://127.0.0.1:70/_',
      'data:application/pdf,%25PDF-1.4',
      'javascript:1',
      `//127.0.0.1:${port}/`,
      `http:\\\\127.0.0.1:${port}\\`,
      `http:127.0.0.1:${port}`,
      `ws://127.0.0.1:${port}/`,
    ]) {
      const answer = await upload(url);
      assert.equal(answer.body.error_code, 'MEDIA_FETCH_FAILED', url);
    }
    assert.equal(reached, 0);
  });

  test('is refused when a public server redirects to it, however late in the chain', async () => {
    for (const [nth, host] of FORBIDDEN.entries()) {
      redirects.set(`/r${nth}`, `http://${host}:${port}/a.pdf`);
      const answer = await upload(`http://${allowedHost}/r${nth}`);
      assert.equal(answer.body.error_code, 'MEDIA_FETCH_FAILED', host);
    }
    redirects.set('/one', '/two');
    redirects.set('/two', `//${allowedHost}/three`);
    redirects.set('/three', `http://[::ffff:7f00:1]:${port}/`);
    assert.equal((await upload(`http://${allowedHost}/one`)).body.error_code, 'MEDIA_FETCH_FAILED');
    redirects.set('/loop', '/loop');
    assert.match((await upload(`http://${allowedHost}/loop`)).body.message, /too many redirects/);
    redirects.set('/fine', '/file');
    assert.equal((await upload(`http://${allowedHost}/fine`)).status, 201);
    assert.equal(reached, 0);
  });

  test('may be asked for only where the operator has named host and port', async () => {
    assert.equal((await upload(`http://${allowedHost}/file`)).status, 201);
    const other = `http://127.0.0.1:${port}/file`;
    assert.equal((await upload(other)).body.error_code, 'MEDIA_FETCH_FAILED');
    const byName = allowedHost.replace('127.0.0.1', 'localhost');
    assert.equal((await upload(`http://${byName}/file`)).body.error_code, 'MEDIA_FETCH_FAILED');
    assert.equal(reached, 0);
  });
});

function upload(url: string) {
  return media.call('POST', `${media.base}/media`, { key: media.company.apiKey, body: { media_url: url } });
}

describe('a name', () => {
  const opened: Outbound[] = [];
  after(async () => {
    for (const outbound of opened) await outbound.close();
  });

  function outboundWith(resolver: Resolver): Outbound {
    const outbound = createOutbound({ allowPrivate: false, refuseDomains: NETWORK_DOMAINS, resolver });
    opened.push(outbound);
    return outbound;
  }

  const fetchBy = (resolver: Resolver, url: string) =>
    fetchMedia({ outbound: outboundWith(resolver) }, url, AbortSignal.timeout(3_000));

  test('is refused when any of its addresses is inside', async () => {
    const answers = [
      ['127.0.0.1'],
      ['93.184.215.14', '127.0.0.1'],
      ['::1'],
      ['93.184.215.14', '::ffff:10.0.0.1'],
      ['169.254.169.254'],
      ['64:ff9b::7f00:1'],
      ['not an address'],
      [],
    ];
    for (const answer of answers) {
      await assert.rejects(
        fetchBy(async () => answer, `http://media.example.com:${port}/`),
        FetchFailed,
        String(answer),
      );
    }
    assert.equal(reached, 0);
  });

  test('that changes its answer between look-ups is connected to only where it was judged', async () => {
    // Public when it is checked, private when it is resolved again: code that looks it up twice is caught.
    for (const inside of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      let lookups = 0;
      const rebinding: Resolver = async () => {
        lookups += 1;
        return lookups % 2 === 1 ? ['8.8.8.8'] : [inside];
      };
      const outbound = outboundWith(rebinding);
      for (let i = 0; i < 6; i += 1) {
        await assert.rejects(
          fetchMedia({ outbound }, `http://rebind-${i}.example.com:${port}/`, AbortSignal.timeout(300)),
        );
      }
      assert.ok(lookups >= 2, 'it was looked up');
    }
    assert.equal(reached, 0);
  });

  test('is refused before its look-up when it is one of the networks’ own servers', async () => {
    let lookups = 0;
    const counting: Resolver = async () => {
      lookups += 1;
      return ['8.8.8.8'];
    };
    for (const host of [
      'mmg.whatsapp.net',
      'MMG.WhatsApp.NET',
      'mmg.whatsapp.net.',
      'whatsapp.net',
      'media-gru1-1.cdn.whatsapp.net',
      'scontent.xx.fbcdn.net',
      'lookaside.fbsbx.com',
      'scontent.cdninstagram.com',
      'graph.facebook.com',
    ]) {
      await assert.rejects(fetchBy(counting, `https://${host}/v/t62.7118-24/x`), FetchFailed, host);
    }
    assert.equal(lookups, 0);
    const [domain] = NETWORK_DOMAINS;
    const own = await fetchBy(counting, `http://not-${domain}:1/`).catch((err: Error) => err.message);
    assert.equal(own, 'this address is not allowed', 'refused for its port, not for its name');
  });
});
