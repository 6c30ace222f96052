import type { FieldDocs } from './field-doc.ts';
import { EVENT_ID, INSTANCE_ID } from './sample-values.ts';

/** Parameters of query strings, by `query.name`, or by the name of the route where they mean something else. */
export const queryDocs: FieldDocs = {
  'query.action': ['Only entries of this action, e.g. token.revoked'],
  'query.archived': ['Only what is in the archive, or only what is not'],
  'query.code': ['What the provider gives when the user agreed'],
  'query.direction': ['Only what was received, or only what was sent'],
  'query.driver': ['Only those of this network, e.g. sandbox'],
  'query.error': ['What the provider gives when the user refused'],
  'query.event': ['Only events of this name'],
  'query.event_id': ['The event, by its UUID', EVENT_ID],
  'query.event_type': ['Only events of this name'],
  'query.instance_id': ['Only those of one instance', INSTANCE_ID],
  'query.kind': ['Only those of this kind'],
  'query.mode': ['Whether an unknown user may sign up'],
  'query.remote_jid': ['Only media of this chat'],
  'query.since': ['Only what is newer than this time; goes before hours'],
  'query.state': ['Only those in this state'],
  'query.status': ['Only those in this state'],
  'query.success': ['Only attempts that succeeded, or only those that failed'],
  'query.type': ['Only messages of this type'],
  'query.webhook_id': ['Only deliveries of this webhook'],
  'oauth.callback.state': ['What the redirect to the provider carried'],
};
