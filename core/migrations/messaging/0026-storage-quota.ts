import { Migration } from '@mikro-orm/migrations';

/** How much media a company keeps, as a number that is always there to read, and how much it may. */
export class StorageQuota extends Migration {
  override name = '0026-storage-quota';

  override up(): void {
    this.addSql(columns);
    this.addSql(usage);
    this.addSql(triggers);
  }
}

const columns = `
-- null: the free limit
ALTER TABLE companies ADD COLUMN storage_mb integer;

-- A variant goes with its media, and by then the media cannot be asked whose it was.
ALTER TABLE media_variants ADD COLUMN company_id integer;
UPDATE media_variants v SET company_id = m.company_id FROM media m WHERE m.id = v.media_id;
ALTER TABLE media_variants ALTER COLUMN company_id SET NOT NULL;
CREATE INDEX media_variants_company ON media_variants (company_id);
`;

const usage = `
-- One row a company from its beginning on: what is about to be stored locks it, looks and adds.
CREATE TABLE media_usage (
  company_id integer PRIMARY KEY,
  used_bytes bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO media_usage (company_id, used_bytes)
SELECT c.id,
       coalesce((SELECT sum(size_bytes) FROM media m WHERE m.company_id = c.id), 0)
       + coalesce((SELECT sum(size_bytes) FROM media_variants v
                   WHERE v.company_id = c.id AND v.storage_key IS NOT NULL), 0)
FROM companies c;

CREATE FUNCTION media_usage_open() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO media_usage (company_id, used_bytes) VALUES (NEW.id, 0) ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER companies_media_usage AFTER INSERT ON companies FOR EACH ROW EXECUTE FUNCTION media_usage_open();
`;

/*
 * Rows of media go by retention, with their instance and by purges that know nothing of a quota: hence
 * triggers. Their names come before those that keep the tallies, since triggers fire by name: everybody
 * locks a company's usage first and its tallies then. A variant without a storage_key has no bytes of its own.
 */
const triggers = `
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
