import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { listen } from '../support/listen.ts';

type Json = Record<string, unknown>;

/** A fixed time, or until the test ends it. */
type Pause = { delayMs: number } | { until: Promise<unknown> };

/**
 * A fault of a call. `500-after`, `half` and `silent` do the requested change and then answer 500, half a JSON, or
 * nothing at all; `late` does it when nobody waits any more.
 */
export type AsaasFault =
  | { kind: 'reset-before' }
  | { kind: '500-before' }
  | { kind: '500-after' }
  | { kind: 'half' }
  | { kind: 'silent' }
  | ({ kind: 'late' } & Pause)
  | ({ kind: 'slow' } & Pause)
  | { kind: 'status'; status: number; body?: Json }
  | { kind: 'redirect'; to: string };

export interface AsaasServer {
  url: string;
  customers: Map<string, Json>;
  subscriptions: Map<string, Json>;
  payments: Map<string, Json>;
  /** Every request: method, path, headers and body. */
  requests: { method: string; path: string; headers: Json; body: Json }[];
  /** The next calls that match get this fault: `METHOD /path-prefix`, or any with `*`. */
  fault(match: string, fault: AsaasFault, times?: number): void;
  /** Whether a later call will wait for an answer longer than it should, or in vain. */
  keepsWaiting(): boolean;
  clearFaults(): void;
  close(): Promise<void>;
}

const KEEP_WAITING: ReadonlySet<AsaasFault['kind']> = new Set(['silent', 'late', 'slow']);
/** Longer than clients keep idle connections: ended here, one might have a request on its way. */
const KEEP_ALIVE_MS = 72_000;

/** A local server that answers in the shapes of Asaas's public documentation, and fails on demand. */
export async function startAsaasServer(): Promise<AsaasServer> {
  const customers = new Map<string, Json>();
  const subscriptions = new Map<string, Json>();
  const payments = new Map<string, Json>();
  const requests: AsaasServer['requests'] = [];
  let faults: { match: string; fault: AsaasFault; left: number }[] = [];
  const waiting = new Set<NodeJS.Timeout>();
  const state = { customers, subscriptions, payments };

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    void serve(request, response);
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const sent = await text(request);
    const body = sent === '' ? {} : (JSON.parse(sent) as Json);
    const path = request.url!.replace(/^\/v3/, '');
    requests.push({ method: request.method!, path, headers: request.headers as Json, body });
    const fault = takeFault(`${request.method} ${path}`);
    if (fault?.kind === 'reset-before') return void request.socket.destroy();
    if (fault?.kind === '500-before') return answer(response, 500, {});
    if (fault?.kind === 'status') return answer(response, fault.status, fault.body ?? {});
    if (fault?.kind === 'redirect') {
      response.writeHead(307, { location: fault.to });
      return void response.end();
    }
    if (fault?.kind === 'late') {
      // So late that the caller has given up.
      await pause(fault);
      route(state, request.method!, path, body);
      return;
    }
    if (request.headers.access_token === undefined)
      return answer(response, 401, {
        errors: [{ code: 'invalid_access_token', description: 'A chave de API informada é inválida' }],
      });
    const outcome = route(state, request.method!, path, body);
    if (fault?.kind === 'silent') return;
    if (fault?.kind === '500-after') return answer(response, 500, {});
    if (fault?.kind === 'slow') await pause(fault);
    if (fault?.kind === 'half') {
      const whole = JSON.stringify(outcome.body);
      response.writeHead(outcome.status, { 'content-type': 'application/json', connection: 'close' });
      return void response.end(whole.slice(0, whole.length / 2));
    }
    answer(response, outcome.status, outcome.body);
  }

  function pause(pause: Pause): Promise<unknown> {
    if ('until' in pause) return pause.until;
    return new Promise((resolve) => waiting.add(setTimeout(resolve, pause.delayMs)));
  }

  function takeFault(call: string): AsaasFault | undefined {
    const found = faults.find(({ match, left }) => left > 0 && (match === '*' || call.startsWith(match)));
    if (found) found.left -= 1;
    return found?.fault;
  }

  const port = await listen(server);
  return {
    ...state,
    url: `http://127.0.0.1:${port}/v3`,
    requests,
    fault: (match, fault, times = 1) => void faults.push({ match, fault, left: times }),
    keepsWaiting: () => faults.some(({ fault, left }) => left > 0 && KEEP_WAITING.has(fault.kind)),
    clearFaults() {
      faults = [];
    },
    async close() {
      for (const timer of waiting) clearTimeout(timer);
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Outcome {
  status: number;
  body: Json;
}

interface State {
  customers: Map<string, Json>;
  subscriptions: Map<string, Json>;
  payments: Map<string, Json>;
}

const NOT_FOUND: Outcome = { status: 404, body: {} };
const refuse = (code: string, description: string): Outcome => ({
  status: 400,
  body: { errors: [{ code, description }] },
});

function route(state: State, method: string, path: string, body: Json): Outcome {
  const url = new URL(path, 'http://asaas');
  const [, resource, id, part] = url.pathname.split('/');
  const stores: Record<string, Map<string, Json>> = { customers: state.customers, payments: state.payments };
  const store = stores[resource!] ?? state.subscriptions;
  if (method === 'POST' && url.pathname === '/customers') return createCustomer(state, body);
  if (method === 'POST' && url.pathname === '/subscriptions') return createSubscription(state, body);
  if (method === 'POST' && url.pathname === '/creditCard/tokenizeCreditCard') return tokenize(state, body);
  if (method === 'GET' && part === 'pixQrCode')
    return state.payments.has(id!)
      ? {
          status: 200,
          body: {
            encodedImage: 'aVZCT1J3MEtHZ28=',
            payload: `00020126-${id}`,
            expirationDate: '2027-01-01 23:59:59',
          },
        }
      : NOT_FOUND;
  if (method === 'GET' && part === 'payments')
    return list(
      [...state.payments.values()].filter((payment) => payment.subscription === id),
      url,
    );
  if (method === 'GET' && id === undefined) {
    const reference = url.searchParams.get('externalReference');
    return list(
      [...store.values()].filter((item) => item.externalReference === reference && !item.deleted),
      url,
    );
  }
  const item = store.get(id ?? '');
  if (!item || item.deleted) return NOT_FOUND;
  if (method === 'GET') return { status: 200, body: item };
  if (method === 'PUT') {
    Object.assign(item, body);
    if (resource === 'subscriptions' && body.updatePendingPayments)
      for (const payment of state.payments.values())
        if (payment.subscription === id && payment.status === 'PENDING') payment.value = body.value;
    return { status: 200, body: item };
  }
  item.deleted = true;
  return { status: 200, body: { deleted: true, id } };
}

function list(items: Json[], url: URL): Outcome {
  const offset = Number(url.searchParams.get('offset') ?? 0);
  const limit = Number(url.searchParams.get('limit') ?? 10);
  const data = items.slice(offset, offset + limit);
  const hasMore = offset + data.length < items.length;
  return { status: 200, body: { object: 'list', hasMore, totalCount: items.length, limit, offset, data } };
}

function createCustomer({ customers }: State, body: Json): Outcome {
  if (!body.name || !body.cpfCnpj) return refuse('invalid_object', 'O campo name deve ser informado.');
  const made = { object: 'customer', id: `cus_${randomUUID().slice(0, 12)}`, ...body, deleted: false };
  customers.set(made.id, made);
  return { status: 200, body: made };
}

function createSubscription({ customers, subscriptions, payments }: State, body: Json): Outcome {
  if (!customers.has(String(body.customer))) return refuse('invalid_customer', 'Customer inválido.');
  if (body.billingType === 'CREDIT_CARD' && body.creditCardToken === 'token-of-a-closed-card')
    return refuse('invalid_creditCard', 'Transação não autorizada.');
  const id = `sub_${randomUUID().slice(0, 12)}`;
  const made = { object: 'subscription', id, status: 'ACTIVE', ...body, deleted: false };
  subscriptions.set(id, made);
  const paymentId = `pay_${randomUUID().slice(0, 12)}`;
  payments.set(paymentId, {
    object: 'payment',
    id: paymentId,
    customer: body.customer,
    subscription: id,
    value: body.value,
    netValue: Number(body.value) - 1.99,
    billingType: body.billingType,
    status: 'PENDING',
    dueDate: body.nextDueDate,
    invoiceUrl: `https://sandbox.asaas.com/i/${paymentId}`,
    bankSlipUrl: body.billingType === 'BOLETO' ? `https://sandbox.asaas.com/b/pdf/${paymentId}` : null,
    externalReference: body.externalReference,
    deleted: false,
  });
  return { status: 200, body: made };
}

function tokenize({ customers }: State, body: Json): Outcome {
  const card = body.creditCard as Record<string, string>;
  if (!customers.has(String(body.customer))) return refuse('invalid_customer', 'Customer inválido.');
  if (card.number === '5184019740373151')
    return refuse('invalid_creditCard', `O cartão ${card.number} com o CCV ${card.ccv} foi recusado.`);
  return {
    status: 200,
    body: {
      creditCardNumber: card.number!.slice(-4),
      creditCardBrand: 'MASTERCARD',
      creditCardToken: randomUUID(),
    },
  };
}

function answer(response: ServerResponse, status: number, body: Json): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}
