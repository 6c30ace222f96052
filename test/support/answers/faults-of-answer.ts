import { checkerOf } from '../document-guard.ts';
import { SERVICES } from '../openapi-documents.ts';
import type { SeenAnswer } from './watch-fetch.ts';

/**
 * The parts of an answer that no document describes, as text; the empty text for none. A few paths belong to both
 * services: then one of the documents has to fit.
 */
export function faultsOfAnswer(answer: SeenAnswer): string {
  if (answer.status === 503 && answer.path !== '/ready' && !(Number(answer.retryAfter) > 0))
    return 'a 503 has Retry-After (ERR-15)';
  // A path that cannot be decoded belongs to no operation.
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

/** Undocumented operations must answer a refusal, except preflights. Outside of /v1 tests serve paths of their own. */
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
