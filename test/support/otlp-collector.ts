import { createServer } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { listen } from './listen.ts';

/** A span as the collector received it. */
export interface CollectedSpan {
  /** `service.name` of the process that sent it. */
  service: string;
  traceId: string;
  spanId: string;
  /** Empty for a root. */
  parentSpanId: string;
  name: string;
  startMs: number;
  endMs: number;
  attributes: Record<string, string | number>;
  isError: boolean;
}

export interface OtlpCollector {
  url: string;
  spans: CollectedSpan[];
  /** The requests that carried the spans. */
  requests: { path: string; headers: Record<string, string | string[] | undefined> }[];
  close(): void;
}

/** A collector of traces that takes OTLP over HTTP as protobuf, and reads it by the numbers of its fields. */
export async function startOtlpCollector(): Promise<OtlpCollector> {
  const spans: CollectedSpan[] = [];
  const requests: OtlpCollector['requests'] = [];
  const server = createServer(async (request, response) => {
    requests.push({ path: request.url ?? '', headers: request.headers });
    const body = await buffer(request);
    if (request.url !== '/v1/traces' || request.headers['content-type'] !== 'application/x-protobuf')
      return response.writeHead(400).end();
    spans.push(...readSpans(body));
    response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    requests,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** The fields of one message of protobuf: numbers as bigint, everything with a length as bytes. */
type Fields = Map<number, (bigint | Buffer)[]>;

function readFields(bytes: Buffer): Fields {
  const fields: Fields = new Map();
  let at = 0;
  const varint = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes[at++]!;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  const take = (size: number) => {
    at += size;
    return bytes.subarray(at - size, at);
  };
  while (at < bytes.length) {
    const key = Number(varint());
    const wire = key & 7;
    let value: bigint | Buffer;
    if (wire === 0) value = varint();
    else if (wire === 1) value = take(8).readBigUInt64LE();
    else if (wire === 2) value = take(Number(varint()));
    else if (wire === 5) value = BigInt(take(4).readUInt32LE());
    else throw new Error(`wire type ${wire}`);
    fields.set(key >> 3, [...(fields.get(key >> 3) ?? []), value]);
  }
  return fields;
}

const messages = (fields: Fields, number: number) =>
  (fields.get(number) ?? []).map((value) => readFields(value as Buffer));
const textOf = (fields: Fields, number: number, encoding: BufferEncoding = 'utf8') =>
  ((fields.get(number)?.[0] as Buffer | undefined) ?? Buffer.alloc(0)).toString(encoding);

function readSpans(request: Buffer): CollectedSpan[] {
  return messages(readFields(request), 1).flatMap((resourceSpans) => {
    const [resource] = messages(resourceSpans, 1);
    const service = String(resource ? attributesOf(resource, 1)['service.name'] : '');
    return messages(resourceSpans, 2).flatMap((scope) =>
      messages(scope, 2).map((span) => ({
        service,
        traceId: textOf(span, 1, 'hex'),
        spanId: textOf(span, 2, 'hex'),
        parentSpanId: textOf(span, 4, 'hex'),
        name: textOf(span, 5),
        startMs: Number((span.get(7)![0] as bigint) / 1_000n) / 1_000,
        endMs: Number((span.get(8)![0] as bigint) / 1_000n) / 1_000,
        attributes: attributesOf(span, 9),
        isError: messages(span, 15).some((status) => status.get(3)?.[0] === 2n),
      })),
    );
  });
}

function attributesOf(fields: Fields, number: number): Record<string, string | number> {
  return Object.fromEntries(
    messages(fields, number).map((attribute) => {
      const [value] = messages(attribute, 2);
      const whole = value!.get(3)?.[0];
      return [textOf(attribute, 1), whole === undefined ? textOf(value!, 1) : Number(whole)];
    }),
  );
}
