import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import path from 'node:path';
import { StartError } from '@posthorn/core/platform/run-main.ts';
import { z } from 'zod/v4';

const schema = z.object({
  JWT_SECRET: z.string(),
  ENCRYPTION_KEY: z.string(),
  INTERNAL_SECRET: z.string(),
  /** The password of the embedded PostgreSQL. */
  DATABASE_PASSWORD: z.string(),
});

/** Named like the settings they replace. */
export type Secrets = z.output<typeof schema>;

/**
 * Loads the secrets of a zero-setup installation: generated at the first start, stored in
 * DATA_DIR/secrets.json (mode 0600), never changed. Throws a one-line error if the file is broken, or missing
 * while the data it opens still exists: generating new ones would only hide that.
 */
export function loadSecrets(dataDir: string): Secrets {
  const file = path.join(dataDir, 'secrets.json');
  if (!existsSync(file)) {
    if (existsSync(path.join(dataDir, 'postgres', 'data')))
      throw new StartError(`${file} is gone, and the data beside it cannot be read without it: restore it`);
    return drawSecrets(file);
  }
  try {
    return schema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new StartError(`${file} cannot be read: restore it`, { cause });
  }
}

function drawSecrets(file: string): Secrets {
  const secrets: Secrets = {
    JWT_SECRET: randomBytes(32).toString('hex'),
    ENCRYPTION_KEY: randomBytes(32).toString('hex'),
    INTERNAL_SECRET: randomBytes(32).toString('hex'),
    DATABASE_PASSWORD: randomBytes(16).toString('hex'),
  };
  const fd = openSync(`${file}.new`, 'w', 0o600);
  writeSync(fd, `${JSON.stringify(secrets, null, 2)}\n`);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(`${file}.new`, file);
  return secrets;
}
