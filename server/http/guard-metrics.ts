import type { IncomingMessage } from 'node:http';
import { apiError } from '@posthorn/contract/api-error.ts';
import type { MetricsAccess } from '@posthorn/core/platform/http/metrics-access.ts';

/** For the gate: throws 401 UNAUTHORIZED to who may not read /metrics. */
export function guardMetrics(mayRead: MetricsAccess): (request: IncomingMessage) => void {
  return (request) => {
    if (!mayRead(request)) throw apiError('UNAUTHORIZED');
  };
}
