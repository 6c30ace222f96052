/** A send as a form or a message has it. */
interface ShownSend {
  /** Its path below `/messages`, and its method in the SDK. */
  kind: { path: string; method: string };
  body: Readonly<Record<string, unknown>>;
  file: File | null;
  /** When it is scheduled for; empty: it is sent at once. */
  sendAt?: string;
}

/** In place of the id that a file gets when it is stored, which a scheduled send names. */
const STORED = '<media_id>';

/** A send as code to copy into a program: for curl, the SDK and msgctl. */
export function requestCode(input: ShownSend & { baseUrl: string; instanceId: string }): {
  curl: string;
  sdk: string;
  msgctl: string;
} {
  const { baseUrl, instanceId } = input;
  const { path, method, body, file } = requestOf(input);
  const fields = Object.entries(body);
  const json = JSON.stringify(body, null, 2);
  const content = file
    ? [
        // `-F` would read a value that begins with @ from a file, and end one at a semicolon.
        ...fields.map(([name, value]) => `--form-string ${word(`${name}=${plain(value)}`)}`),
        `-F ${word(`file=@${fileWord(file.name)}`)}`,
      ]
    : [`-H 'Content-Type: application/json'`, `-d ${word(json)}`];
  return {
    curl: [
      `curl ${word(`${baseUrl}/v1/instances/${instanceId}/messages/${path}`)}`,
      '-H "X-API-Key: $POSTHORN_API_KEY"',
      '-H "Idempotency-Key: $(uuidgen)"',
      ...content,
    ].join(' \\\n  '),
    sdk: `await client.${method}({\n  instanceId: '${instanceId}',\n  body: ${bodyText(json, file)},\n});`,
    msgctl: [`msgctl ${commandOf(path)}`]
      .concat(`--instance ${instanceId}`, file ? `--file ${word(file.name)}` : [])
      .concat(fields.flatMap(([name, value]) => wordsOf(path, name, value)))
      .join(' \\\n  '),
  };
}

/** The request that makes a send: its own, or the one that schedules it. */
function requestOf({ kind: { path, method }, body, file, sendAt }: ShownSend) {
  if (!sendAt) return { path, method, body, file };
  const scheduled = file ? { ...body, media_id: STORED } : body;
  return {
    path: 'scheduled',
    method: 'scheduled.create',
    body: { type: path, send_at: sendAt, body: scheduled },
    file: null,
  };
}

function bodyText(json: string, file: File | null): string {
  const indented = json.replaceAll('\n', '\n  ');
  return file ? indented.replace(/\n {2}\}$/, `,\n    file: ${JSON.stringify(file.name)}\n  }`) : indented;
}

function commandOf(path: string): string {
  if (path === 'scheduled') return 'scheduled create';
  return path.startsWith('status/') ? path.replace('/', ' ') : `send ${path}`;
}

/** `msgctl send text` has a flag for each of its fields, and takes no other words. */
const TEXT_FLAGS: Readonly<Record<string, string>> = {
  text: 'text',
  quoted_id: 'quoted-id',
  mentions: 'mention',
};
/** Behind `name=`, msgctl takes these for JSON. */
const NO_TEXT = /^(true|false|null|-?\d{1,6}(\.\d+)?)$/;

/** A field as msgctl takes it: by a flag, else as `name=text` or `name:=JSON`. */
function wordsOf(path: string, name: string, value: unknown): string[] {
  const flag = name === 'to' ? 'to' : path === 'text' && TEXT_FLAGS[name];
  if (flag) return [value].flat().map((one) => `--${flag} ${word(plain(one))}`);
  const isText = typeof value === 'string' && !NO_TEXT.test(value);
  return [word(isText ? `${name}=${value}` : `${name}:=${JSON.stringify(value)}`)];
}

function plain(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** The name of a file behind curl's `@`, where a comma or a semicolon ends a name without quotes. */
function fileWord(name: string): string {
  return /^[\w.-]+$/.test(name) ? name : `"${name.replace(/["\\]/g, '\\$&')}"`;
}

/** Quotes any text as one word of a shell. */
function word(text: string): string {
  return /^[\w+:/.,=@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
