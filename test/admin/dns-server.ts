import dns from 'dns2';

/** The server's records for one name: A records, and TXT records beside them. */
export interface Listing {
  addresses: readonly string[];
  texts?: readonly string[];
}

/** A DNS server over UDP on a free port: it knows the listed names, and no other one exists. */
export interface DnsServer {
  /** In the form of REPUTATION_RESOLVER. */
  address: string;
  /** Names of the queries for A records, in order. */
  asked: string[];
  list(name: string, listing: Listing): void;
  /** Names below this zone get no answer at all. */
  silence(zone: string): void;
  /** Names below this zone are answered with this DNS response code. */
  fail(zone: string, code: number): void;
  close(): Promise<void>;
}

const { Packet } = dns;

export async function startDnsServer(): Promise<DnsServer> {
  const listings = new Map<string, Listing>();
  const silent = new Set<string>();
  const failing = new Map<string, number>();
  const asked: string[] = [];
  const isBelow = (name: string, zones: Iterable<string>) =>
    [...zones].find((zone) => name.endsWith(`.${zone}`));

  const server = dns.createUDPServer((request, send) => {
    const question = request.questions[0]!;
    const name = question.name.toLowerCase();
    if (question.type === Packet.TYPE.A) asked.push(name);
    if (isBelow(name, silent)) return;
    const response = Packet.createResponseFromRequest(request);
    const code = isBelow(name, failing.keys());
    const listing = listings.get(name);
    if (code !== undefined) response.header.rcode = failing.get(code)!;
    else if (!listing) response.header.rcode = Packet.RCODE.NXDOMAIN;
    else {
      const add = (type: number, record: object) =>
        response.answers.push(
          new Packet.Resource({ name, class: Packet.CLASS.IN, ttl: 60, type, ...record }),
        );
      if (question.type === Packet.TYPE.A)
        for (const address of listing.addresses) add(Packet.TYPE.A, { address });
      if (question.type === Packet.TYPE.TXT)
        for (const data of listing.texts ?? []) add(Packet.TYPE.TXT, { data });
    }
    void send(response);
  });
  await server.listen(0, '127.0.0.1');
  return {
    address: `127.0.0.1:${server.address().port}`,
    asked,
    list: (name, listing) => void listings.set(name, listing),
    silence: (zone) => void silent.add(zone),
    fail: (zone, code) => void failing.set(zone, code),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

export const REFUSED = Packet.RCODE.REFUSED;
export const SERVFAIL = Packet.RCODE.SERVFAIL;
