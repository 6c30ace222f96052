import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Principal } from '@posthorn/core/access/principal.ts';
import type { UploadedFile } from '@posthorn/core/media/media-port.ts';
import { type AddressReader, addressGroup } from '@posthorn/core/platform/http/client-address.ts';
import type { Request, Response } from 'express';
import type { PreparedRoute } from './prepared-route.ts';

/** The parts of a request that a handler gets, typed by its route (see handler.ts). */
export interface HandlerInput {
  readonly method: string;
  readonly params: Record<string, string>;
  readonly query: unknown;
  readonly body: unknown;
  /** The file sent as bytes in the body of a route that takes media (`raw: 'multipart'`). */
  readonly file: UploadedFile | undefined;
  /** The authenticated caller. Reading it on a route without authentication throws. */
  readonly principal: Principal;
  readonly traceId: string;
  /** When its headers had arrived, before any lookup; monotonic, ms. */
  readonly startedAt: number;
  /** How long the gate has waited for the database, ms. */
  readonly gateMs: number;
  readonly headers: IncomingHttpHeaders;
  /** The request as Node received it. */
  readonly incoming: IncomingMessage;
  readonly cookies: Readonly<Record<string, string | undefined>>;
  /** The client's address, as far as the trusted proxies vouch for it. */
  readonly ip: string;
  /** Aborts if the client leaves before it was answered. */
  readonly signal: AbortSignal;
  /**
   * For streams: the raw response and the headers every answer carries. After this call only the handler
   * writes to it.
   */
  takeResponse(): { request: IncomingMessage; response: ServerResponse; headers: AnswerHeaders };
  /** For WebSockets: the socket of an upgrade, or null if the request asked for none. */
  takeUpgrade(): { request: IncomingMessage; socket: Socket; head: Buffer } | null;
}

/** The headers of an answer by lower-case name; only `set-cookie` has several values. */
export type AnswerHeaders = Record<string, string | string[]>;

/** An upgrade from the server's `upgrade` event; it runs through the routes like any request. */
export interface Upgrade {
  socket: Socket;
  head: Buffer;
}

export const UPGRADE = Symbol('upgrade');

/**
 * A class, so that all instances have one hidden shape and lazy parts: most requests never use cookies or the
 * signal.
 */
export class Call implements HandlerInput {
  readonly request: Request;
  readonly response: Response;
  readonly route: PreparedRoute;
  readonly traceId: string;
  readonly startedAt: number;
  gateMs = 0;
  params: Record<string, string>;
  query: unknown = undefined;
  body: unknown = undefined;
  file: UploadedFile | undefined = undefined;
  /** Set by the gate. */
  admitted: Principal | null = null;
  /**
   * True until the gate admits the request: the gate's refusals have the full envelope in all services
   * (ERR-3).
   */
  inGate = true;
  readonly answerHeaders: AnswerHeaders;
  #release: (() => Promise<void>) | null = null;
  /** Set while the handler has to check the credential itself; called with whether that failed. */
  settleProof: ((failed: boolean) => void) | null = null;
  readonly #addressOf: AddressReader;
  #cookies: Record<string, string | undefined> | null = null;
  #controller: AbortController | null = null;

  constructor(
    request: Request,
    response: Response,
    route: PreparedRoute,
    identity: { traceId: string; answerHeaders: AnswerHeaders; addressOf: AddressReader },
  ) {
    this.request = request;
    this.response = response;
    this.route = route;
    this.traceId = identity.traceId;
    this.startedAt = performance.now();
    this.params = request.params as Record<string, string>;
    this.answerHeaders = identity.answerHeaders;
    this.#addressOf = identity.addressOf;
  }

  get principal(): Principal {
    if (this.admitted === null) throw new Error(`${this.route.name} does not authenticate`);
    return this.admitted;
  }

  get method(): string {
    return this.request.method;
  }

  get headers(): IncomingHttpHeaders {
    return this.request.headers;
  }

  get incoming(): IncomingMessage {
    return this.request;
  }

  get cookies(): Readonly<Record<string, string | undefined>> {
    this.#cookies ??= parseCookies(this.headers.cookie);
    return this.#cookies;
  }

  get ip(): string {
    return this.#addressOf(this.request);
  }

  /** The key under which unauthenticated clients are counted. */
  get addressGroup(): string {
    return addressGroup(this.ip);
  }

  get signal(): AbortSignal {
    if (this.#controller === null) {
      const controller = new AbortController();
      this.#controller = controller;
      const { response } = this;
      if (response.destroyed) controller.abort();
      response.once('close', () => {
        if (!response.writableFinished) controller.abort();
      });
    }
    return this.#controller.signal;
  }

  /** Registers `release`, which frees the request's resources once, whatever the outcome. */
  keep(release: () => Promise<void>): void {
    this.#release = release;
  }

  /** Whether `releaseAll` has something to free. */
  get holds(): boolean {
    return this.#release !== null;
  }

  async releaseAll(): Promise<void> {
    const release = this.#release;
    this.#release = null;
    await release?.();
  }

  takeResponse(): { request: IncomingMessage; response: ServerResponse; headers: AnswerHeaders } {
    return { request: this.request, response: this.response, headers: this.answerHeaders };
  }

  takeUpgrade(): { request: IncomingMessage; socket: Socket; head: Buffer } | null {
    const { request, response } = this;
    const upgrade = (request as IncomingMessage & { [UPGRADE]?: Upgrade })[UPGRADE];
    if (!upgrade) return null;
    response.detachSocket(upgrade.socket);
    return { request, ...upgrade };
  }
}

function parseCookies(header: string | undefined): Record<string, string | undefined> {
  const cookies: Record<string, string | undefined> = Object.create(null);
  for (const part of header?.split(';') ?? []) {
    const at = part.indexOf('=');
    if (at > 0) cookies[part.slice(0, at).trim()] ??= part.slice(at + 1).trim();
  }
  return cookies;
}
