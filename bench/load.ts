import autocannon from 'autocannon';

export interface Target {
  /** Origin of the server under load. */
  url: string;
  instanceIds: readonly string[];
  apiKey: string;
  /** Builds the request for a text and its recipient; default: sends the text itself. */
  formOf?: (instanceId: string, message: { to: string; text: string }) => { operation: string; body: object };
}

const asText: NonNullable<Target['formOf']> = (_instanceId, body) => ({ operation: 'text', body });

export interface Round {
  acceptedPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  accepted: number;
}

/** Connections of every load. */
export const CONNECTIONS = 64;

let sequence = 0;

/** A text never sent before, to a contact that gets at most two: nothing here triggers the guard. */
export function nextText(): { to: string; text: string; key: string } {
  sequence += 1;
  const contact = Math.floor(sequence / 2);
  return {
    to: `55${String(11_000_000_000 + ((process.pid * 1_000_003 + contact) % 9_000_000_000)).padStart(11, '0')}`,
    text: `Your order ${sequence} has left our warehouse and arrives tomorrow between 9 and 12 o'clock.`,
    key: `bench-${process.pid}-${sequence}`,
  };
}

/** Sends messages as fast as the server takes them, over {@link CONNECTIONS} connections. */
export async function loadAccepts(target: Target, seconds: number): Promise<Round> {
  let turn = 0;
  const result = await autocannon({
    url: target.url,
    connections: CONNECTIONS,
    duration: seconds,
    requests: [
      {
        method: 'POST',
        setupRequest(request) {
          const { to, text, key } = nextText();
          turn += 1;
          const instanceId = target.instanceIds[turn % target.instanceIds.length]!;
          const { operation, body } = (target.formOf ?? asText)(instanceId, { to, text });
          request.path = `/v1/instances/${instanceId}/messages/${operation}`;
          request.headers = {
            'content-type': 'application/json',
            'x-api-key': target.apiKey,
            'idempotency-key': key,
          };
          request.body = JSON.stringify(body);
          return request;
        },
      },
    ],
  });
  const refused = result.non2xx + result.errors + result.timeouts;
  if (refused > 0)
    throw new Error(`${refused} of ${result.requests.total} requests to ${target.url} were not accepted`);
  return {
    acceptedPerSecond: result['2xx'] / result.duration,
    p50Ms: result.latency.p50,
    p99Ms: result.latency.p99,
    accepted: result['2xx'],
  };
}
