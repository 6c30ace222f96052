/** The tables of the reference servers: like ours, a message and the task that sends it. */
export const REFERENCE_TABLES = `
CREATE TABLE reference_messages (
  id          uuid PRIMARY KEY,
  instance_id uuid NOT NULL,
  chat        text NOT NULL,
  status      text NOT NULL,
  content     jsonb NOT NULL,
  created_at  timestamptz NOT NULL
);
CREATE TABLE reference_tasks (
  id         uuid PRIMARY KEY,
  message_id uuid NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE TABLE reference_events (
  id         uuid PRIMARY KEY,
  message_id uuid NOT NULL,
  type       text NOT NULL,
  data       jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE TABLE reference_delivery_logs (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  event_id    uuid NOT NULL,
  status_code integer NOT NULL,
  created_at  timestamptz NOT NULL
);`;

/** One durable statement that inserts two rows. */
export const INSERT_TWO_ROWS = `
WITH message AS (
  INSERT INTO reference_messages (id, instance_id, chat, status, content, created_at)
  VALUES ($1, $2, $3, 'queued', $4, now())
)
INSERT INTO reference_tasks (id, message_id, created_at) VALUES ($5, $1, now())`;
