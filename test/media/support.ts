import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { startTestMessaging, type TestMessaging } from '../support/messaging.ts';
import { type SeededCompany, seedCompany, seedInstance } from '../support/seed.ts';

/** A file in the folder of the disk storage that is no object. */
const MARKER = '.storage';

/** A messaging server with a company and an instance of its own, and the requests that the tests make. */
export interface MediaServer extends TestMessaging {
  company: SeededCompany;
  instanceId: string;
  /** `/v1/instances/<id>`. */
  base: string;
  upload(file: Uint8Array | Blob, options?: UploadOptions): Promise<Uploaded>;
  /** Files anywhere under DATA_DIR/media, spool included, relative to it; not the storage's own marker. */
  files(): Promise<string[]>;
}

export interface UploadOptions {
  name?: string;
  type?: string;
  fields?: Record<string, string>;
  path?: string;
  key?: string;
  idempotencyKey?: string;
}

export interface Uploaded {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tests look at what came, whatever it is
  body: any;
  headers: Headers;
}

export async function startMediaServer(env: Record<string, string> = {}): Promise<MediaServer> {
  const server = await startTestMessaging(env);
  const company = await seedCompany(server.parts.db);
  const instanceId = await seedInstance(server.parts.db, company.companyId);
  const base = `/v1/instances/${instanceId}`;
  return {
    ...server,
    company,
    instanceId,
    base,
    async upload(file, options = {}) {
      const form = new FormData();
      for (const [name, value] of Object.entries(options.fields ?? {})) form.append(name, value);
      const blob =
        file instanceof Blob
          ? file
          : new Blob([file as Uint8Array<ArrayBuffer>], { type: options.type ?? '' });
      form.append('file', blob, options.name ?? 'file.bin');
      const response = await fetch(server.url + (options.path ?? `${base}/media`), {
        method: 'POST',
        body: form,
        headers: {
          'x-api-key': options.key ?? company.apiKey,
          ...(options.idempotencyKey ? { 'idempotency-key': options.idempotencyKey } : {}),
        },
      });
      return { status: response.status, body: await response.json(), headers: response.headers };
    },
    async files() {
      const root = path.join(server.config.DATA_DIR, 'media');
      const entries = await readdir(root, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && entry.name !== MARKER)
        .map((entry) => path.relative(root, path.join(entry.parentPath, entry.name)));
    },
  };
}
