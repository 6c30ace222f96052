import type { SendKind } from './use-send-kinds.ts';

/** A form field may hold the text of a whole file. */
const SHOWN_CHARS = 300;

/** A send as code to copy into a program: for curl, the SDK and msgctl. */
export function requestCode(input: {
  baseUrl: string;
  instanceId: string;
  kind: SendKind;
  body: Readonly<Record<string, unknown>>;
  file: File | null;
}): { curl: string; sdk: string; msgctl: string } {
  const { baseUrl, instanceId, kind, file } = input;
  const fields = Object.entries(input.body).map(([name, value]) => [name, cut(value)] as const);
  const json = JSON.stringify(Object.fromEntries(fields), null, 2);
  const url = `${baseUrl}/v1/instances/${instanceId}/messages/${kind.path}`;
  const content = file
    ? [
        ...fields.map(([name, value]) => `-F ${word(`${name}=${plain(value)}`)}`),
        `-F ${word(`file=@${file.name}`)}`,
      ]
    : [`-H 'Content-Type: application/json'`, `-d ${word(json)}`];
  return {
    curl: [
      `curl ${word(url)}`,
      '-H "X-API-Key: $POSTHORN_API_KEY"',
      '-H "Idempotency-Key: $(uuidgen)"',
      ...content,
    ].join(' \\\n  '),
    sdk: `await client.${kind.method}({\n  instanceId: '${instanceId}',\n  body: ${bodyText(json, file)},\n});`,
    msgctl: [`msgctl ${kind.path.startsWith('status/') ? kind.path.replace('/', ' ') : `send ${kind.path}`}`]
      .concat(`--instance ${instanceId}`, file ? `--file ${word(file.name)}` : [])
      .concat(fields.map(([name, value]) => flag(kind, name, value)))
      .join(' \\\n  '),
  };
}

function bodyText(json: string, file: File | null): string {
  const indented = json.replaceAll('\n', '\n  ');
  return file ? indented.replace(/\n {2}\}$/, `,\n    file: ${JSON.stringify(file.name)}\n  }`) : indented;
}

/**
 * `msgctl send` has flags for the recipient and for the words of a text; every other field is `name=text` or
 * `name:=JSON`.
 */
function flag({ path }: SendKind, name: string, value: unknown): string {
  if (name === 'to' || (name === 'text' && path === 'text')) return `--${name} ${word(plain(value))}`;
  return word(typeof value === 'string' ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`);
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function cut(value: unknown): unknown {
  return typeof value === 'string' && value.length > SHOWN_CHARS ? `${value.slice(0, SHOWN_CHARS)}…` : value;
}

/** Quotes any text as one word of a shell. */
function word(text: string): string {
  return /^[\w+:/.,=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
