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

/** Optional as a whole when every field of it is. */
type Field<Name extends string, T> =
  Record<never, never> extends T ? { [K in Name]?: T } : { [K in Name]: T };

/** What a schema takes, or what it makes of that: a list as a list, a number as a number. */
type Query<Q extends z.ZodType> = {
  [K in keyof z.input<Q>]: z.input<Q>[K] | (K extends keyof z.output<Q> ? z.output<Q>[K] : never);
};

type ParamsPart<R> = R extends { path: infer P extends string }
  ? { [K in ParamName<P>]: string | number }
  : never;
type QueryPart<R> = R extends { query: infer Q extends z.ZodType } ? Field<'query', Query<Q>> : unknown;
/** Where media comes from: named, or as bytes, which are sent as a form. */
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
/** Exactly one of its sources: what the service demands, said by the types. */
type OneSource<B> = { [S in NamedSource & keyof B]: WithNamed<B, S> }[NamedSource & keyof B] | WithFile<B>;

/** A status is answered by a text, or by media, which stand beside no text. */
type TextReply<B> = Flat<
  Omit<B, Source | 'type' | 'text' | 'caption'> & { type?: 'text' | undefined; text: string } & {
    [K in Source | 'caption']?: undefined;
  }
>;
type MediaReply<B> = OneSource<Omit<B, 'type'> & { type: 'image' | 'video' | 'sticker' }>;

/** What a route with media takes besides a FormData of the caller's own. */
export type MediaBody<S extends z.ZodType> = 'type' extends keyof z.input<S>
  ? TextReply<z.input<S>> | MediaReply<z.input<S>>
  : OneSource<z.input<S>>;

type Prefix<T> = T extends `${infer P}.${string}` ? P : never;
type Suffix<T> = T extends `${string}.${infer S}` ? S : never;

/** What a subscription may name: an event, all of a kind (`message.*`), all with an ending (`*.received`), or all. */
export type EventPattern = '*' | EventType | `${Prefix<EventType>}.*` | `*.${Suffix<EventType>}`;

/** What another route takes. A misspelt event would be waited for in silence: the types know the names. */
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
      /** Passes the guard and passive mode by: `X-Force-Send: true`. */
      force?: boolean;
    }
  : unknown;

/** Written out as one object, which is what editors show. */
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
