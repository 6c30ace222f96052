/** The endpoints by their names in the contract, with what they take and answer: a wrong name or field does not compile. */
import type { BillingMethods, ContractMethods } from '@posthorn/sdk/index.ts';

type Groups = ContractMethods & { [G in keyof BillingMethods & string as `billing.${G}`]: BillingMethods[G] };

/**
 * e.g. `tokens.list`; those of billing begin with `billing.`. An endpoint that never answers with a success has no name
 * here.
 */
export type EndpointName = {
  [G in keyof Groups & string]: `${G}.${keyof Groups[G] & string}`;
}[keyof Groups & string];

// Looked up part by part: searching all methods for each name would take the compiler 85,000 more instantiations,
// beside 1.4 million.
type Method<N extends string> = N extends `billing.${infer Rest}`
  ? MethodIn<BillingMethods, Rest>
  : MethodIn<ContractMethods, N>;
type MethodIn<M, N extends string> = N extends `${infer G extends keyof M & string}.${infer F}`
  ? M[G][F & keyof M[G]]
  : never;

type Input<N extends EndpointName> =
  Method<N> extends (...given: infer P) => unknown ? NonNullable<P[0]> : never;
type Part<I, P extends string> = I extends { [K in P]?: infer T } ? NonNullable<T> : unknown;

/** A query in which a text of the contract may also be a number. */
type Written<Q> = { [F in keyof Q]: string extends Q[F] ? Q[F] | number : Q[F] };

/** The parameters of the path, the query and the body as one record. */
export type FieldsOf<N extends EndpointName> = Omit<Input<N>, 'query' | 'body' | 'idempotencyKey' | 'force'> &
  Written<Part<Input<N>, 'query'>> &
  Part<Input<N>, 'body'>;

export type AnswerOf<N extends EndpointName> =
  Method<N> extends (...given: never) => PromiseLike<infer A> ? A : never;

type RowOf<A> = A extends { data: readonly (infer R)[] } | { logs: readonly (infer R)[] } ? R : object;

/** A field of the rows of an answered list; none without a list. */
export type ColumnOf<N extends EndpointName> = keyof RowOf<AnswerOf<N>> & string;
