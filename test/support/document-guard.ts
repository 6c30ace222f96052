import assert from 'node:assert/strict';
import { DocumentChecker, type ServiceName } from './openapi-documents.ts';

interface Answer {
  status: number;
  headers: Headers;
  /** The parsed JSON; undefined when there was none. */
  body: unknown;
}

const checkers = new Map<ServiceName, DocumentChecker>();

/** The checker of a document, made when the first answer of its service comes. */
export function checkerOf(service: ServiceName): DocumentChecker {
  const made = checkers.get(service) ?? new DocumentChecker(service);
  checkers.set(service, made);
  return made;
}

/**
 * Checks every answer that a test gets against the committed document: its status is documented, and its JSON fits
 * the schema of that status. The server checks against the contract itself; this checks what callers are promised.
 */
export function createDocumentGuard(service: ServiceName) {
  return <A extends Answer>(method: string, path: string, answer: A): A => {
    const { status, headers, body } = answer;
    const type = headers.get('content-type') ?? '';
    const faults = checkerOf(service).faultsOfAnswer({ method, path, status, type, body });
    assert.equal(faults, '', `${method} ${path} is not what openapi/${service}.json says`);
    return answer;
  };
}
