import type { AppRoute, AppRouter, ServerInferRequest } from '@ts-rest/core';
import type { z } from 'zod/v4';
import type { HandlerInput } from './call.ts';

type Output<S> = S extends z.ZodType ? z.output<S> : undefined;
type Input<S> = S extends z.ZodType ? z.input<S> : unknown;

type BodyOf<R extends AppRoute> = R extends { body: infer B } ? Output<B> : undefined;
type QueryOf<R extends AppRoute> = R extends { query: infer Q } ? Output<Q> : undefined;
type ParamsOf<R extends AppRoute> =
  ServerInferRequest<R> extends { params: infer P } ? { [K in keyof P]: string } : Record<string, never>;

/** The parts of a request, parsed by the contract's schemas. */
export type InputOf<R extends AppRoute> = Omit<HandlerInput, 'params' | 'query' | 'body'> & {
  readonly params: ParamsOf<R>;
  readonly query: QueryOf<R>;
  readonly body: BodyOf<R>;
};

/** One of the declared answers. Errors are thrown (`apiError`), not returned. */
export type AnswerOf<R extends AppRoute> = {
  [S in keyof R['responses'] & number]: {
    status: S;
    body?: Input<R['responses'][S]>;
    headers?: Record<string, string | string[]>;
  } & (R['responses'][S] extends z.ZodType ? { body: Input<R['responses'][S]> } : unknown);
}[keyof R['responses'] & number];

/** Returns `undefined` if the handler took over the response (`takeResponse`, `takeUpgrade`). */
export type Handler<R extends AppRoute> = (
  input: InputOf<R>,
) => AnswerOf<R> | undefined | Promise<AnswerOf<R> | undefined>;

/** A handler for every route of a contract, in its shape; a missing one does not compile. */
export type Handlers<C extends AppRouter> = {
  [K in keyof C]: C[K] extends AppRoute ? Handler<C[K]> : C[K] extends AppRouter ? Handlers<C[K]> : never;
};

/** The untyped handler and answer used by the route binding. */
export interface Answer {
  status: number;
  body?: unknown;
  headers?: Record<string, string | string[]>;
}
export type AnyHandler = (input: HandlerInput) => Answer | undefined | Promise<Answer | undefined>;
