/** The log of events, partitioned by day, and the clock of its cursors. */
export const events = `
-- A reader's cursor is (tx, id): the writing transaction, then the row. A reader looks only at
-- transactions older than every one still running (event_horizon), so none commits behind its back.
CREATE SEQUENCE events_id;
CREATE TABLE events (
  tx          bigint NOT NULL,
  id          bigint NOT NULL DEFAULT nextval('events_id'),
  event_id    uuid NOT NULL,
  company_id  integer NOT NULL,
  instance_id uuid,
  type        text NOT NULL,
  data        jsonb NOT NULL,
  trace_id    uuid,
  created_at  timestamptz NOT NULL,
  -- Bytes of the data as text: what a page may hold is known without decompressing what does not fit on it. Null for
  -- test events of webhooks, which are measured when they are read.
  size_bytes  integer
) PARTITION BY RANGE (created_at);
CREATE INDEX events_cursor ON events (company_id, tx, id);
CREATE INDEX events_event ON events (event_id);
-- What was told of a message of the playground, by the message: no other event is in this index.
CREATE INDEX events_playground ON events ((data -> 'message_ids' ->> 0))
  WHERE instance_id = '0198c0de-b0a7-7000-8000-706c61796772';

-- Transaction numbers start anew in a restored database; the base keeps cursors growing across it.
CREATE TABLE event_clock (
  only_row          boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  system_identifier bigint NOT NULL,
  tx_base           bigint NOT NULL
);
INSERT INTO event_clock (system_identifier, tx_base) SELECT system_identifier, 0 FROM pg_control_system();

CREATE FUNCTION event_tx() RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT pg_current_xact_id()::text::bigint + tx_base FROM event_clock $$;
CREATE FUNCTION event_horizon() RETURNS bigint LANGUAGE sql STABLE AS
$$ SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint + tx_base FROM event_clock $$;

-- Makes the partitions of the days from first to last of a table that is partitioned by created_at.
CREATE FUNCTION ensure_day_partitions(parent text, first date, last date) RETURNS void LANGUAGE plpgsql AS $$
DECLARE day date := first;
BEGIN
  WHILE day <= last LOOP
    EXECUTE format('CREATE TABLE IF NOT EXISTS %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
      parent || '_' || to_char(day, 'YYYYMMDD'), parent,
      day::timestamp AT TIME ZONE 'UTC', (day + 1)::timestamp AT TIME ZONE 'UTC');
    day := day + 1;
  END LOOP;
END $$;

-- Catches what falls outside the prepared days, so that a late retention job stops nothing.
CREATE TABLE events_other PARTITION OF events DEFAULT;
SELECT ensure_day_partitions('events', (now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7);
`;
