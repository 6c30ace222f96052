/** Stored media: what is kept, what was made of it, sums for the lists, and what has to go. */
export const media = `
CREATE TABLE media (
  id          uuid PRIMARY KEY,
  company_id  integer NOT NULL,
  instance_id uuid NOT NULL,
  source      text NOT NULL CHECK (source IN ('uploads', 'url-cache', 'base64', 'inbound')),
  mime_type   text NOT NULL,
  file_name   text NOT NULL,
  size_bytes  bigint NOT NULL,
  sha256      bytea NOT NULL,
  storage_key text NOT NULL,
  animated    boolean NOT NULL DEFAULT false,
  -- the chat it came from or was first sent to; null until then
  remote_jid  text,
  -- names the received message: a message that the network repeats is stored once
  inbound_key text,
  -- SHA-256 of the address it was fetched from
  url_hash    bytea,
  created_at  timestamptz NOT NULL,
  -- null: kept for good
  expires_at  timestamptz
);
CREATE INDEX media_instance ON media (instance_id, created_at, id);
CREATE INDEX media_type ON media (instance_id, mime_type, created_at, id);
CREATE INDEX media_chat ON media (instance_id, remote_jid, created_at, id) WHERE remote_jid IS NOT NULL;
CREATE INDEX media_expiry ON media (expires_at) WHERE expires_at IS NOT NULL;
CREATE UNIQUE INDEX media_inbound ON media (instance_id, inbound_key) WHERE inbound_key IS NOT NULL;
CREATE INDEX media_url ON media (instance_id, url_hash, expires_at) WHERE url_hash IS NOT NULL;
-- Kept for good, so the same bytes are kept once.
CREATE UNIQUE INDEX media_base64 ON media (instance_id, sha256) WHERE source = 'base64';

-- The form in which the network takes it: 'plain' only measures, the others have bytes of their own.
CREATE TABLE media_variants (
  media_id    uuid NOT NULL REFERENCES media (id) ON DELETE CASCADE,
  variant     text NOT NULL CHECK (variant IN ('plain', 'voice', 'loop')),
  storage_key text,
  mime_type   text NOT NULL,
  size_bytes  bigint NOT NULL,
  details     jsonb NOT NULL,
  created_at  timestamptz NOT NULL,
  -- a variant goes with its media, and by then the media cannot be asked whose it was
  company_id  integer NOT NULL,
  PRIMARY KEY (media_id, variant)
);
CREATE INDEX media_variants_company ON media_variants (company_id);

-- Lists show a total, and conversations their sums; neither may count rows (ERR-18). Triggers rather than
-- statements next to each use case, because rows also go by way of purges that know nothing of media.
CREATE TABLE media_tallies (
  instance_id   uuid NOT NULL,
  company_id    integer NOT NULL,
  -- '' for what belongs to no chat yet
  remote_jid    text NOT NULL,
  mime_type     text NOT NULL,
  media_count   bigint NOT NULL,
  total_bytes   bigint NOT NULL,
  last_media_at timestamptz NOT NULL,
  PRIMARY KEY (instance_id, remote_jid, mime_type)
);

CREATE FUNCTION media_tally_add() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO media_tallies AS t
         (instance_id, company_id, remote_jid, mime_type, media_count, total_bytes, last_media_at)
  SELECT instance_id, company_id, coalesce(remote_jid, ''), mime_type, count(*), sum(size_bytes), max(created_at)
  FROM added GROUP BY 1, 2, 3, 4
  -- one order for all, so that two statements never wait for each other in a ring
  ORDER BY 1, 3, 4
  ON CONFLICT (instance_id, remote_jid, mime_type) DO UPDATE
  SET media_count = t.media_count + excluded.media_count,
      total_bytes = t.total_bytes + excluded.total_bytes,
      last_media_at = greatest(t.last_media_at, excluded.last_media_at);
  RETURN NULL;
END $$;

CREATE FUNCTION media_tally_remove() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM media_tallies t
  WHERE (t.instance_id, t.remote_jid, t.mime_type) IN
        (SELECT DISTINCT instance_id, coalesce(remote_jid, ''), mime_type FROM removed)
  ORDER BY t.instance_id, t.remote_jid, t.mime_type FOR UPDATE;
  UPDATE media_tallies t
  SET media_count = t.media_count - r.n, total_bytes = t.total_bytes - r.bytes
  FROM (SELECT instance_id, coalesce(remote_jid, '') AS remote_jid, mime_type,
               count(*) AS n, sum(size_bytes) AS bytes
        FROM removed GROUP BY 1, 2, 3) AS r
  WHERE (t.instance_id, t.remote_jid, t.mime_type) = (r.instance_id, r.remote_jid, r.mime_type);
  DELETE FROM media_tallies t USING (SELECT DISTINCT instance_id FROM removed) AS r
  WHERE t.instance_id = r.instance_id AND t.media_count <= 0;
  RETURN NULL;
END $$;

CREATE TRIGGER media_added AFTER INSERT ON media REFERENCING NEW TABLE AS added
  FOR EACH STATEMENT EXECUTE FUNCTION media_tally_add();
CREATE TRIGGER media_removed AFTER DELETE ON media REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION media_tally_remove();

-- Objects that have to leave the storage: written ahead of every object, taken back when its row is there,
-- and again when the row goes. So a crash at any point leaves nothing behind for good. No company_id: a
-- purge of the company must not make us forget its objects.
CREATE TABLE media_trash (
  storage_key text PRIMARY KEY,
  due_at      timestamptz NOT NULL
);
CREATE INDEX media_trash_due ON media_trash (due_at);

CREATE FUNCTION media_discard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO media_trash (storage_key, due_at)
  SELECT storage_key, '-infinity' FROM removed WHERE storage_key IS NOT NULL
  ON CONFLICT (storage_key) DO UPDATE SET due_at = excluded.due_at;
  RETURN NULL;
END $$;

CREATE TRIGGER media_discarded AFTER DELETE ON media REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION media_discard();
CREATE TRIGGER media_variants_discarded AFTER DELETE ON media_variants REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION media_discard();

-- Deleting an instance takes no longer for the media it has: that goes in batches, afterwards.
CREATE TABLE media_orphans (
  instance_id uuid PRIMARY KEY,
  company_id  integer NOT NULL
);

CREATE FUNCTION media_orphan() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO media_orphans (instance_id, company_id) SELECT id, company_id FROM removed
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;

CREATE TRIGGER instances_media_orphaned AFTER DELETE ON instances REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION media_orphan();

-- How much media a company keeps, as a number that is always there to read. One row a company from its beginning
-- on: what is about to be stored locks it, looks and adds.
CREATE TABLE media_usage (
  company_id integer PRIMARY KEY,
  used_bytes bigint NOT NULL
) WITH (fillfactor = 50);

CREATE FUNCTION media_usage_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO media_usage (company_id, used_bytes) VALUES (NEW.id, 0) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_media_usage AFTER INSERT ON companies FOR EACH ROW EXECUTE FUNCTION media_usage_open();

-- Rows of media go by retention, with their instance and by purges that know nothing of a quota: hence
-- triggers. Their names come before those that keep the tallies, since triggers fire by name: everybody
-- locks a company's usage first and its tallies then. A variant without a storage_key has no bytes of its own.
CREATE FUNCTION media_usage_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  sign integer := CASE WHEN TG_OP = 'INSERT' THEN 1 ELSE -1 END;
BEGIN
  PERFORM 1 FROM media_usage WHERE company_id IN (SELECT company_id FROM changed) ORDER BY company_id FOR UPDATE;
  UPDATE media_usage u SET used_bytes = u.used_bytes + sign * c.bytes
  FROM (SELECT company_id, sum(size_bytes) AS bytes FROM changed WHERE storage_key IS NOT NULL GROUP BY 1) AS c
  WHERE u.company_id = c.company_id;
  RETURN NULL;
END $$;

CREATE TRIGGER media_account_added AFTER INSERT ON media REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION media_usage_change();
CREATE TRIGGER media_account_removed AFTER DELETE ON media REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION media_usage_change();
CREATE TRIGGER media_variants_account_added AFTER INSERT ON media_variants REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION media_usage_change();
CREATE TRIGGER media_variants_account_removed AFTER DELETE ON media_variants REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION media_usage_change();
`;
