import type { IncomingMessage } from 'node:http';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { MetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';

/** Guard for the gate: throws 401 UNAUTHORIZED if the caller may not read /metrics. */
export function guardMetrics(mayRead: MetricsAccess): (request: IncomingMessage) => void {
  return (request) => {
    if (!mayRead(request)) throw apiError('UNAUTHORIZED');
  };
}
