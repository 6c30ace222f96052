import { billingBodies } from './billing.ts';
import { messagingBodies } from './messaging.ts';

/** The example of a route's body; undefined where the table has none. */
export function exampleBody(service: 'messaging' | 'billing', name: string): object | undefined {
  return (service === 'messaging' ? messagingBodies : billingBodies)[name];
}

/** Answers that are text and not JSON, by the name of the route. */
export const textAnswers: Readonly<Record<string, string>> = {
  'events.stream':
    'id: 0000000000001a2b-17\nevent: message.sent\ndata: {"event_id":"0198c0de-0000-7000-8000-0000000000e1","type":"message.sent"}\n\n',
  'cloud.handshake': '1158201444',
  'openapi.page': '<!doctype html>',
  'openapi.script': '/* the reference */',
  'health.metrics':
    '# HELP http_requests_total Requests by route and status\n# TYPE http_requests_total counter\nhttp_requests_total{route="health.health",status="200"} 1\n',
};
