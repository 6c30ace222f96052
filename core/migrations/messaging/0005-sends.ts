import { Migration } from '@mikro-orm/migrations';

/** What sending needs beyond the spine: ends of changes, scheduled sends, stories, calls to owners. */
export class Sends extends Migration {
  override name = '0005-sends';

  override up(): void {
    this.addSql(tasks);
    this.addSql(scheduled);
    this.addSql(statuses);
    this.addSql(calls);
  }
}

const tasks = `
-- How delete and edit tasks ended: they have no message of their own whose state a replay could show.
CREATE TABLE finished_changes (
  task_id     uuid PRIMARY KEY,
  status      text NOT NULL CHECK (status IN ('sent', 'failed')),
  finished_at timestamptz NOT NULL
);
CREATE INDEX finished_changes_finished ON finished_changes USING brin (finished_at);
`;

const scheduled = `
-- The id is the message_id of what will be sent.
CREATE TABLE scheduled_sends (
  id              uuid PRIMARY KEY,
  company_id      integer NOT NULL,
  instance_id     uuid NOT NULL,
  type            text NOT NULL,
  send_at         timestamptz NOT NULL,
  status          text NOT NULL CHECK (status IN ('scheduled', 'claimed', 'queued', 'failed', 'cancelled')),
  body            jsonb NOT NULL,
  idempotency_key text NOT NULL,
  force           boolean NOT NULL,
  user_id         integer NOT NULL,
  token_id        integer,
  is_superadmin   boolean NOT NULL,
  failed_reason   text,
  trace_id        uuid,
  -- a claim that is older than a minute belongs to a worker that died
  claimed_at      timestamptz,
  created_at      timestamptz NOT NULL
);
CREATE INDEX scheduled_sends_due ON scheduled_sends (send_at) WHERE status IN ('scheduled', 'claimed');
CREATE INDEX scheduled_sends_instance ON scheduled_sends (instance_id, send_at);
`;

const statuses = `
CREATE TABLE status_feed (
  id          uuid PRIMARY KEY,
  company_id  integer NOT NULL,
  instance_id uuid NOT NULL,
  direction   text NOT NULL CHECK (direction IN ('inbound', 'outbound')),
  -- the network's id of an inbound status, the message_id of one of ours
  status_id   text NOT NULL,
  author_jid  text NOT NULL,
  type        text NOT NULL CHECK (type IN ('text', 'image', 'video', 'audio')),
  content     text NOT NULL,
  media_id    uuid,
  posted_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX status_feed_status ON status_feed (instance_id, status_id);
CREATE INDEX status_feed_instance ON status_feed (instance_id, posted_at, id);

CREATE TABLE status_views (
  instance_id  uuid NOT NULL,
  status_id    text NOT NULL,
  viewer_jid   text NOT NULL,
  company_id   integer NOT NULL,
  receipt_type text NOT NULL CHECK (receipt_type IN ('read', 'played')),
  viewed_at    timestamptz NOT NULL,
  PRIMARY KEY (instance_id, status_id, viewer_jid)
);
`;

const calls = `
-- Questions of API processes to the worker that owns an instance, answered within seconds; a crash of
-- the database may forget them (unlogged), as it breaks the request that waits (docs/decisions/0013).
CREATE UNLOGGED TABLE network_calls (
  id          uuid PRIMARY KEY,
  instance_id uuid NOT NULL,
  shard       smallint NOT NULL,
  op          text NOT NULL,
  args        jsonb NOT NULL,
  state       text NOT NULL DEFAULT 'asked' CHECK (state IN ('asked', 'taken', 'answered')),
  answer      jsonb,
  error       text,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX network_calls_asked ON network_calls (shard) WHERE state = 'asked';
`;
