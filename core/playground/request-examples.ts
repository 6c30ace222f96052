import type { PlaygroundExamples, PlaygroundKind } from '@posthorn/contract/messaging/playground.ts';

/** A file as text, and the like, would hide the rest. */
const VALUE_MAX_CHARS = 200;

/** The same send as it is made from an instance of one's own: by curl, with the SDK, and with msgctl. */
export function requestExamples(
  publicUrl: string,
  kind: PlaygroundKind,
  body: Readonly<Record<string, unknown>>,
): PlaygroundExamples {
  const shown = Object.fromEntries(Object.entries(body).map(([name, value]) => [name, shorten(value)]));
  const { to, ...more } = shown as { to: string } & Record<string, unknown>;
  const json = JSON.stringify(shown, null, 2);
  return {
    curl: [
      `curl -X POST ${quote(`${publicUrl}/v1/instances/`)}"$INSTANCE_ID"/messages/${kind}`,
      `-H "X-API-Key: $POSTHORN_API_KEY"`,
      `-H "Idempotency-Key: $(uuidgen)"`,
      `-H 'Content-Type: application/json'`,
      `-d ${quote(json)}`,
    ].join(' \\\n  '),
    sdk: `await client.messages.send${kind[0]!.toUpperCase()}${kind.slice(1)}({ instanceId, body: ${json} });`,
    cli: [
      'msgctl',
      'send',
      kind,
      '--to',
      quote(to),
      ...(kind === 'text' ? textFlags(more) : assignments(more)),
    ].join(' '),
  };
}

function shorten(value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= VALUE_MAX_CHARS) return value;
  return `${[...value].slice(0, 20).join('')}...`;
}

/** `msgctl send text` has flags in place of assignments. */
const TEXT_FLAGS: Readonly<Record<string, string>> = {
  text: 'text',
  quoted_id: 'quoted-id',
  mentions: 'mention',
};

function textFlags(fields: Record<string, unknown>): string[] {
  return Object.entries(TEXT_FLAGS).flatMap(([name, flag]) =>
    [fields[name] ?? []].flat().flatMap((value) => [`--${flag}`, quote(String(value))]),
  );
}

/** Behind `name=`, msgctl takes these for JSON. */
const NO_TEXT = /^(true|false|null|-?\d{1,6}(\.\d+)?)$/;

/** `name=text`, and `name:=JSON` for whatever is no text. */
function assignments(fields: Record<string, unknown>): string[] {
  return Object.entries(fields).map(([name, value]) => {
    const isText = typeof value === 'string' && !NO_TEXT.test(value);
    return quote(isText ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`);
  });
}

/** One word of a POSIX shell, for any text. */
function quote(text: string): string {
  return /^[\w+:/.,=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
