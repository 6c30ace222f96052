import type { ErrorClass } from '@posthorn/contract/messaging/webhooks.ts';
import type { DisconnectReason } from '@posthorn/core/network/driver.ts';
import type { Metrics } from '@posthorn/core/platform/process/metrics.ts';
import type { EndpointClass } from './webhooks/endpoint-control.ts';

/** An attempt at a webhook that has ended. */
export interface EndedAttempt {
  /** The class of its endpoint before this attempt. */
  endpoint: EndpointClass;
  /** Empty on success. */
  errorClass: ErrorClass;
  latencyMs: number;
  /** From the event to the end of the attempt. */
  sinceEventMs: number;
}

/** Where the consumers tell what they did, for /metrics. */
export interface WorkCounts {
  onSendEnd(outcome: 'sent' | 'failed', sinceAcceptMs: number): void;
  onAttemptEnd(attempt: EndedAttempt): void;
  onSessionEnd(reason: DisconnectReason): void;
}

const ENDPOINTS: readonly EndpointClass[] = ['prompt', 'slow', 'failing'];

/** Series that may be expected are there from the start, with 0: an increase from nothing would not be seen. */
export function countWork(metrics: Metrics): WorkCounts {
  const send = (outcome: string) =>
    metrics.timer('posthorn_send_seconds', 'Time from the accept of a send to its end', { outcome });
  const sends = { sent: send('sent'), failed: send('failed') };
  const attempt = (endpoint: EndpointClass, outcome: string) =>
    metrics.timer('posthorn_webhook_attempt_seconds', 'Time of an attempt at a webhook', {
      endpoint,
      outcome,
    });
  const delivery = (endpoint: EndpointClass) =>
    metrics.timer('posthorn_webhook_delivery_seconds', 'Time from an event to its delivery to a webhook', {
      endpoint,
    });
  const end = (reason: DisconnectReason) =>
    metrics.counter(
      'posthorn_session_ends_total',
      'Network sessions that ended, other than by our own doing',
      {
        reason,
      },
    );
  for (const endpoint of ENDPOINTS) {
    attempt(endpoint, 'success');
    delivery(endpoint);
  }
  for (const reason of ['connection_lost', 'failed', 'replaced', 'logged_out', 'banned'] as const)
    end(reason);
  return {
    onSendEnd: (outcome, sinceAcceptMs) => sends[outcome](sinceAcceptMs),
    onAttemptEnd({ endpoint, errorClass, latencyMs, sinceEventMs }) {
      attempt(endpoint, errorClass === '' ? 'success' : errorClass)(latencyMs);
      if (errorClass === '') delivery(endpoint)(sinceEventMs);
    },
    onSessionEnd: (reason) => end(reason)(),
  };
}
