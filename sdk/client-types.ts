/** The types of the methods, derived from the contract: nothing here is written twice. */
import type { EventType } from '@posthorn/contract/events.ts';
import type { AppRoute, AppRouter, ContractNoBodyType } from '@ts-rest/core';
import type { z } from 'zod/v4';
import type { Call, CallOptions } from './call-options.ts';
import type { FileSource } from './file.ts';

type ParamName<P extends string> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParamName<Tail>
    : Rest
  : never;

/** One field, which is optional if every field of its type is. */
type Field<Name extends string, T> =
  Record<never, never> extends T ? { [K in Name]?: T } : { [K in Name]: T };

/** A query as its schema takes it or as the schema parses it, so that lists and numbers are allowed too. */
type Query<Q extends z.ZodType> = {
  [K in keyof z.input<Q>]: z.input<Q>[K] | (K extends keyof z.output<Q> ? z.output<Q>[K] : never);
};

type ParamsPart<R> = R extends { path: infer P extends string }
  ? { [K in ParamName<P>]: string | number }
  : never;
type QueryPart<R> = R extends { query: infer Q extends z.ZodType } ? Field<'query', Query<Q>> : unknown;
/** The sources of media: a named one, or a file, whose bytes are sent as a form. */
type NamedSource = 'media_url' | 'media_id' | 'media_base64';
type Source = NamedSource | 'file';
type WithFile<B> = Flat<
  Omit<B, NamedSource> & { file: FileSource } & { [K in NamedSource & keyof B]?: undefined }
>;
type WithNamed<B, S extends NamedSource & keyof B> = Flat<
  Omit<B, NamedSource> & { [K in S]: Exclude<B[K], undefined> } & {
    [K in Exclude<(NamedSource & keyof B) | 'file', S>]?: undefined;
  }
>;
/** A body with exactly one source, as the service demands. */
type OneSource<B> = { [S in NamedSource & keyof B]: WithNamed<B, S> }[NamedSource & keyof B] | WithFile<B>;

/** A reply to a status is a text, or media without a text. */
type TextReply<B> = Flat<
  Omit<B, Source | 'type' | 'text' | 'caption'> & { type?: 'text' | undefined; text: string } & {
    [K in Source | 'caption']?: undefined;
  }
>;
type MediaReply<B> = OneSource<Omit<B, 'type'> & { type: 'image' | 'video' | 'sticker' }>;

/** The body that a route with media takes if it is no FormData of the caller's. */
export type MediaBody<S extends z.ZodType> = 'type' extends keyof z.input<S>
  ? TextReply<z.input<S>> | MediaReply<z.input<S>>
  : OneSource<z.input<S>>;

type Prefix<T> = T extends `${infer P}.${string}` ? P : never;
type Suffix<T> = T extends `${string}.${infer S}` ? S : never;

/**
 * A name or pattern of events that a subscription may list: one event, all of a kind (`message.*`), all with an ending
 * (`*.received`), or all.
 */
export type EventPattern = '*' | EventType | `${Prefix<EventType>}.*` | `*.${Suffix<EventType>}`;

/**
 * The body of a route without media. The type knows the event names, since nothing else shows that a subscription waits
 * for a misspelt one.
 */
export type JsonBody<S extends z.ZodType> = 'events' extends keyof z.input<S>
  ? Flat<Omit<z.input<S>, 'events'> & { events?: readonly EventPattern[] | undefined }>
  : z.input<S>;

type BodyPart<R> = R extends { body: infer B }
  ? B extends z.ZodType
    ? R extends { metadata: { raw: 'multipart' } }
      ? { body: MediaBody<B> | FormData }
      : Field<'body', JsonBody<B>>
    : unknown
  : unknown;
type KeyedPart<R> = R extends { metadata: { operation: string } }
  ? {
      /**
       * Made by the client when absent. The same key again creates no second message: it answers the first one's
       * ids.
       */
      idempotencyKey?: string;
      /** Bypasses the guard and passive mode: `X-Force-Send: true`. */
      force?: boolean;
    }
  : unknown;

/** Writes the type out as one object, so that editors show its fields. */
type Flat<T> = { [K in keyof T]: T[K] };
type InputOf<R> = Flat<ParamsPart<R> & QueryPart<R> & BodyPart<R> & KeyedPart<R>>;

type SuccessStatus = 200 | 201 | 202 | 203 | 204 | 205 | 206;
type AnswerBody<R, A> = A extends ContractNoBodyType
  ? undefined
  : A extends z.ZodType
    ? z.output<A>
    : R extends { metadata: { raw: 'text' } }
      ? string
      : Response;
type SuccessAnswer<R> = R extends { responses: infer A }
  ? { [S in keyof A & SuccessStatus]: AnswerBody<R, A[S]> }[keyof A & SuccessStatus]
  : never;

type Method<R> =
  Record<never, never> extends InputOf<R>
    ? (input?: InputOf<R>, options?: CallOptions) => Call<SuccessAnswer<R>>
    : (input: InputOf<R>, options?: CallOptions) => Call<SuccessAnswer<R>>;

type IsCallable<R> = R extends { metadata: { raw: 'sse' | 'ws' } }
  ? false
  : R extends { responses: infer A }
    ? [keyof A & SuccessStatus] extends [never]
      ? false
      : true
    : true;

/** One method for each route that a plain request can call, in the shape of the contract. */
export type Methods<C> = {
  [K in keyof C as IsCallable<C[K]> extends true ? K : never]: C[K] extends AppRoute
    ? Method<C[K]>
    : C[K] extends AppRouter
      ? Methods<C[K]>
      : never;
};
