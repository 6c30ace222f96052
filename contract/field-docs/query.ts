import type { FieldDocs } from './field-doc.ts';
import { EVENT_ID, INSTANCE_ID } from './sample-values.ts';

/** Parameters of query strings, by `query.name`, or by the name of the route where they mean something else. */
export const queryDocs: FieldDocs = {
  'query.action': ['Only entries of this action, e.g. token.revoked'],
  'query.archived': ['true: only archived chats; false: only the others'],
  'query.code': ['The code that the provider issues when the user has agreed'],
  'query.company_id': ['Only records of this company'],
  'query.direction': ['inbound: only received ones; outbound: only sent ones'],
  'query.driver': ['Only instances of this network, e.g. sandbox'],
  'query.error': ['The error that the provider reports when the user has refused'],
  'query.event': ['Only events of this name'],
  'query.event_id': ['The UUID of the event', EVENT_ID],
  'query.event_type': ['Only events of this name'],
  'query.instance_id': ['Only records of this instance', INSTANCE_ID],
  'query.kind': ['Only records of this kind'],
  'query.mode': ['Whether an unknown user may sign up'],
  'query.remote_jid': ['Only media of this chat'],
  'query.since': ['Only records newer than this time; overrides hours'],
  'query.state': ['Only records in this state'],
  'query.status': ['Only records in this state'],
  'query.success': ['true: only attempts that succeeded; false: only attempts that failed'],
  'query.type': ['Only messages of this type'],
  'query.webhook_id': ['Only deliveries of this webhook'],
  'oauth.callback.state': ['The state that the redirect to the provider carried'],
};
