/** A tester's actions on the simulated Cloud API of Meta, which is kept in memory alone. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod/v4';
import type { GraphFault, OfficialNumber } from '../graph/model.ts';
import type { Graph } from '../graph/server.ts';
import { phoneNumber } from '../phone-number.ts';
import type { Guard } from './guard.ts';
import { ControlError, parseWith, type Route } from './http.ts';

/** Where it is: `GRAPH_URL` is the sandbox's address with this. */
export const GRAPH_PATH = '/graph';

/** Hands a request of a driver over to it. Web pages are refused as everywhere in the sandbox. */
export function serveGraph(
  { graph, guard }: { graph: Graph; guard: Guard },
  request: IncomingMessage,
  response: ServerResponse,
): void {
  if ((guard.refuseHost(request) ?? guard.refuseOrigin(request)) !== null) {
    response.writeHead(403).end();
    return;
  }
  void graph.answer(request, response, (request.url ?? '').slice(GRAPH_PATH.length));
}

const numberBody = z.object({ phone: phoneNumber, name: z.string().min(1).max(255).optional() });
const ofNumber = z.object({ phone: phoneNumber });
const tokenBody = z.object({ alive: z.boolean() });
const messageBody = z.object({
  /** A number, or a business-scoped id such as BR.1349. */
  from: z.string().regex(/^\+?[\w.]{5,140}$/),
  text: z.string().min(1).max(65_536),
  name: z.string().min(1).max(255).optional(),
});
const mannersBody = z.object({
  doubled: z.boolean().optional(),
  shuffled: z.boolean().optional(),
  delay_ms: z.int().min(0).max(600_000).optional(),
  /** While true nothing is posted. */
  held: z.boolean().optional(),
});
const reviewBody = z.object({
  status: z.enum(['APPROVED', 'REJECTED', 'PAUSED', 'DISABLED', 'PENDING']),
  reason: z
    .string()
    .regex(/^[A-Z_]{1,40}$/)
    .optional(),
  language: z.string().max(20).optional(),
});
const faultBody = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.literal('error'), code: z.int() }),
    z.object({ kind: z.literal('fail'), code: z.int() }),
    z.object({ kind: z.literal('lose_answer'), at: z.enum(['before', 'after']) }),
    z.object({ kind: z.literal('bad_gateway'), at: z.enum(['before', 'after']) }),
  ])
  .and(z.object({ person: phoneNumber.optional(), times: z.int().min(1).max(1_000_000).default(1) }));

export function cloudRoutes(graph: Graph): Route[] {
  return [...numberRoutes(graph), ...postRoutes(graph), ...sendRoutes(graph)];
}

function numberOf({ world }: Graph, params: Record<string, string>): OfficialNumber {
  const { phone } = parseWith(ofNumber, params);
  const found = [...world.numbers.values()].find((number) => number.phone === phone);
  if (!found) throw new ControlError(404, 'PHONE_NOT_FOUND', 'no official number has this phone');
  return found;
}

/** Official numbers, and those who write to them. */
function numberRoutes(graph: Graph): Route[] {
  const { world } = graph;
  return [
    {
      method: 'POST',
      path: '/cloud/numbers',
      handle({ body }) {
        const { phone, name } = parseWith(numberBody, body);
        const known = [...world.numbers.values()].find((number) => number.phone === phone);
        return shown(known ?? graph.addNumber({ phone, ...(name ? { name } : {}) }));
      },
    },
    { method: 'GET', path: '/cloud/numbers/:phone', handle: ({ params }) => shown(numberOf(graph, params)) },
    {
      method: 'POST',
      path: '/cloud/numbers/:phone/token',
      handle({ params, body }) {
        const number = numberOf(graph, params);
        number.isTokenAlive = parseWith(tokenBody, body).alive;
        return shown(number);
      },
    },
    {
      method: 'POST',
      path: '/cloud/numbers/:phone/messages',
      handle({ params, body }) {
        const { from, text, name } = parseWith(messageBody, body);
        const person = graph.person(from.replace(/^\+/, ''), name ? { name } : {});
        return { id: graph.write(person.phone, numberOf(graph, params), 'text', { body: text }) };
      },
    },
  ];
}

/** Routes that set how and when webhooks are posted, and that review templates. */
function postRoutes(graph: Graph): Route[] {
  return [
    {
      method: 'POST',
      path: '/cloud/numbers/:phone/webhooks',
      handle({ params, body }) {
        const number = numberOf(graph, params);
        const { held, delay_ms: delayMs, doubled, shuffled } = parseWith(mannersBody, body);
        graph.manners(number, {
          ...(doubled === undefined ? {} : { doubled }),
          ...(shuffled === undefined ? {} : { shuffled }),
          ...(delayMs === undefined ? {} : { delayMs }),
        });
        const poster = graph.poster(number);
        if (held !== undefined) poster.hold(held);
        const { manners } = poster;
        const now = { doubled: manners.doubled, shuffled: manners.shuffled, delay_ms: manners.delayMs };
        return { ...now, waiting: poster.pending() };
      },
    },
    {
      method: 'POST',
      path: '/cloud/numbers/:phone/templates/:name/review',
      handle({ params, body }) {
        const number = numberOf(graph, params);
        const { status, reason, language } = parseWith(reviewBody, body);
        const found = [...graph.world.templates.values()].filter(
          (each) =>
            each.businessId === number.businessId &&
            each.name === params.name &&
            (language === undefined || each.language === language),
        );
        if (found.length === 0) throw new ControlError(404, 'NOT_FOUND', 'no such template');
        for (const template of found) graph.review(template, status, reason);
        return { reviewed: found.length, status };
      },
    },
  ];
}

/** Routes that make sends fail, and that show the sent messages. */
function sendRoutes(graph: Graph): Route[] {
  const { world } = graph;
  return [
    {
      method: 'POST',
      path: '/cloud/faults',
      handle({ body }) {
        const { person, times, ...fault } = parseWith(faultBody, body);
        graph.fault(fault as GraphFault, { times, ...(person ? { person } : {}) });
        return { ...fault, times };
      },
    },
    {
      method: 'DELETE',
      path: '/cloud/faults',
      handle() {
        const cleared = world.faults.splice(0).filter(({ left }) => left > 0).length;
        return { cleared };
      },
    },
    {
      method: 'GET',
      path: '/cloud/sent',
      handle: () => ({ sent: world.ledger.slice(-SENT_SHOWN).map(({ to, id, body }) => ({ to, id, body })) }),
    },
  ];
}

/** The newest ones. */
const SENT_SHOWN = 1_000;

/** The credentials that an instance connects with, and where its webhooks go. */
function shown(number: OfficialNumber) {
  return {
    phone: number.phone,
    name: number.name,
    phone_number_id: number.id,
    business_account_id: number.businessId,
    access_token: number.token,
    app_secret: number.appSecret,
    token_alive: number.isTokenAlive,
    posts_to: number.webhook?.url ?? null,
  };
}
