import { checkerOf } from '../document-guard.ts';
import { SERVICES } from '../openapi-documents.ts';
import type { SeenAnswer } from './watch-fetch.ts';

/**
 * What an answer has that no document says of it, as text; the empty text for none. Both services have a few paths:
 * then one of the documents has to fit.
 */
export function faultsOfAnswer(answer: SeenAnswer): string {
  if (answer.status === 503 && answer.path !== '/ready' && !(Number(answer.retryAfter) > 0))
    return 'a 503 has Retry-After (ERR-15)';
  // A path that cannot be decoded is none of any operation.
  if (answer.status === 400 && !isDecodable(answer.path)) return '';
  let first: string | null = null;
  for (const service of SERVICES) {
    const checker = checkerOf(service);
    if (!checker.knows(answer.method, answer.path)) continue;
    const faults = checker.faultsOfAnswer(answer);
    if (faults === '') return '';
    first ??= `${faults} (openapi/${service}.json)`;
  }
  return first ?? faultsOfUnknown(answer);
}

/** What is not documented is refused, but for preflights. Outside of /v1 tests serve what they make up. */
function faultsOfUnknown({ method, path, status }: SeenAnswer): string {
  if (status >= 400 || method === 'OPTIONS' || !path.startsWith('/v1/')) return '';
  return 'no document has this operation';
}

function isDecodable(path: string): boolean {
  try {
    decodeURIComponent(path);
    return true;
  } catch {
    return false;
  }
}
