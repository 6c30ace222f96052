import { createHash, randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export interface S3Object {
  bytes: Buffer;
  contentType: string | undefined;
  /** `x-amz-server-side-encryption` of the request that stored it. */
  encryption: string | undefined;
}

interface Upload extends Omit<S3Object, 'bytes'> {
  key: string;
  parts: Map<number, Buffer>;
}

export interface Answer {
  status: number;
  headers?: Record<string, string | number>;
  body?: string | Buffer;
}

export interface S3Request {
  key: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export type Kind = 'put' | 'create' | 'part' | 'complete' | 'abort' | 'get' | 'head' | 'delete';

const LEAST_PART_BYTES = 5 * 1024 * 1024;

/** Answers the adapter's requests on objects as S3 does. */
export function createObjects() {
  const objects = new Map<string, S3Object>();
  /** Multipart uploads that nobody has completed or aborted: S3 charges for their parts. */
  const uploads = new Map<string, Upload>();

  const answers: Record<Kind, (request: S3Request) => Answer> = {
    put({ key, headers, body }) {
      objects.set(key, { bytes: body, ...metadataOf(headers) });
      return { status: 200, headers: { etag: etagOf(body) } };
    },
    create({ key, headers }) {
      const id = randomUUID();
      uploads.set(id, { key, parts: new Map(), ...metadataOf(headers) });
      return xml(200, 'InitiateMultipartUploadResult', `<UploadId>${id}</UploadId>`);
    },
    part({ query, body }) {
      const upload = uploads.get(query.get('uploadId')!);
      const number = Number(query.get('partNumber'));
      if (!upload) return refusal(404, 'NoSuchUpload');
      if (!(number >= 1 && number <= 10_000)) return refusal(400, 'InvalidArgument');
      upload.parts.set(number, body);
      return { status: 200, headers: { etag: etagOf(body) } };
    },
    complete({ query, body }) {
      const id = query.get('uploadId')!;
      const upload = uploads.get(id);
      if (!upload) return refusal(404, 'NoSuchUpload');
      const listed = [...body.toString().matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, part = '']) => ({
        number: Number(/<PartNumber>(\d+)</.exec(part)?.[1]),
        etag: /<ETag>(.*?)</.exec(part)?.[1]?.replaceAll('&quot;', '"'),
      }));
      const parts: Buffer[] = [];
      for (const [at, { number, etag }] of listed.entries()) {
        const part = upload.parts.get(number);
        if (!part || etagOf(part) !== etag) return refusal(400, 'InvalidPart');
        if (at > 0 && number <= listed[at - 1]!.number) return refusal(400, 'InvalidPartOrder');
        if (at < listed.length - 1 && part.length < LEAST_PART_BYTES) return refusal(400, 'EntityTooSmall');
        parts.push(part);
      }
      if (parts.length === 0) return refusal(400, 'MalformedXML');
      const { key, contentType, encryption } = upload;
      objects.set(key, { bytes: Buffer.concat(parts), contentType, encryption });
      uploads.delete(id);
      return xml(200, 'CompleteMultipartUploadResult', `<ETag>${etagOf(body)}</ETag>`);
    },
    abort({ query }) {
      return uploads.delete(query.get('uploadId')!) ? { status: 204 } : refusal(404, 'NoSuchUpload');
    },
    get({ key, headers }) {
      const found = objects.get(key);
      if (!found) return refusal(404, 'NoSuchKey');
      const { bytes } = found;
      const range = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '');
      if (!range) return { status: 200, headers: headersOf(found, bytes), body: bytes };
      const [start, end] = [Number(range[1]), Math.min(Number(range[2]), bytes.length - 1)];
      if (start >= bytes.length) return refusal(416, 'InvalidRange');
      const part = bytes.subarray(start, end + 1);
      const contentRange = { 'content-range': `bytes ${start}-${end}/${bytes.length}` };
      return { status: 206, headers: { ...headersOf(found, part), ...contentRange }, body: part };
    },
    head({ key }) {
      const found = objects.get(key);
      return found ? { status: 200, headers: headersOf(found, found.bytes) } : { status: 404 };
    },
    delete({ key }) {
      objects.delete(key);
      return { status: 204 };
    },
  };
  return { objects, uploads, answers };
}

export function kindOf(method: string, query: URLSearchParams): Kind {
  if (query.has('uploads')) return 'create';
  const inParts = query.has('uploadId');
  switch (method) {
    case 'PUT':
      return inParts ? 'part' : 'put';
    case 'DELETE':
      return inParts ? 'abort' : 'delete';
    case 'POST':
      return 'complete';
    default:
      return method === 'HEAD' ? 'head' : 'get';
  }
}

export function refusal(status: number, code: string): Answer {
  return xml(status, 'Error', `<Code>${code}</Code><Message>${code}</Message>`);
}

function xml(status: number, root: string, content: string): Answer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n<${root}>${content}</${root}>`;
  return { status, headers: { 'content-type': 'application/xml' }, body };
}

function metadataOf(headers: IncomingHttpHeaders): Omit<S3Object, 'bytes'> {
  const encryption = headers['x-amz-server-side-encryption'] as string | undefined;
  return { contentType: headers['content-type'], encryption };
}

function headersOf({ contentType }: S3Object, bytes: Buffer): Record<string, string | number> {
  return {
    'content-type': contentType ?? 'binary/octet-stream',
    'content-length': bytes.length,
    etag: etagOf(bytes),
  };
}

function etagOf(bytes: Buffer): string {
  return `"${createHash('md5').update(bytes).digest('hex')}"`;
}
