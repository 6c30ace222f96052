import { apiError } from '@posthorn/contract/api-error.ts';
import type { Catalog, Collections } from '@posthorn/contract/messaging/business.ts';
import { askNetwork } from '../rpc/ask-network.ts';
import { type BusinessCaller, type BusinessDeps, businessOf, withOwnImages } from './ask-business.ts';
import { catalogAnswer, collectionsAnswer } from './network-answers.ts';

const invalidCursor = () => apiError('BAD_REQUEST', { message: 'cursor: is not one of this catalog' });

/**
 * A page of the products of a business, with pictures of our own (CHT-9). A business without a catalog, and an account
 * that is no business, has none. 400 BAD_REQUEST for a cursor that is none; else as askNetwork throws.
 */
export async function listCatalog(
  deps: BusinessDeps,
  input: BusinessCaller & { query: { jid: string; limit: number; cursor?: string | undefined } },
): Promise<Catalog> {
  const { query, ...caller } = input;
  const { scope, jid } = await businessOf(deps, caller, query.jid);
  const args = { jid, limit: query.limit, ...(query.cursor && { cursor: opened(query.cursor) }) };
  const request = { ...caller, op: 'business_catalog', args } as const;
  const answer = await askNetwork(deps, request, catalogAnswer, { cursor_invalid: invalidCursor });
  const [products = []] = await withOwnImages(deps, scope, [answer.products.slice(0, query.limit)]);
  return {
    products,
    ...(answer.next_cursor === null ? {} : { next_page_cursor: sealed(answer.next_cursor) }),
  };
}

/** The collections of a business, with their products. Empty for one that has none; else as askNetwork throws. */
export async function listCollections(
  deps: BusinessDeps,
  input: BusinessCaller & { query: { jid: string; limit: number } },
): Promise<Collections> {
  const { query, ...caller } = input;
  const { scope, jid } = await businessOf(deps, caller, query.jid);
  const request = { ...caller, op: 'business_collections', args: { jid, limit: query.limit } } as const;
  const found = (await askNetwork(deps, request, collectionsAnswer)).slice(0, query.limit);
  const products = await withOwnImages(
    deps,
    scope,
    found.map((collection) => collection.products),
  );
  return { collections: found.map((collection, at) => ({ ...collection, products: products[at] ?? [] })) };
}

/** The network's cursor as characters that need no escaping in a query. */
function sealed(cursor: string): string {
  return Buffer.from(cursor).toString('base64url');
}

function opened(cursor: string): string {
  const text = Buffer.from(cursor, 'base64url').toString();
  if (text === '' || sealed(text) !== cursor) throw invalidCursor();
  return text;
}
