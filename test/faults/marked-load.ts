import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { controlOf } from '../network/sandbox-harness.ts';
import type { SeededCompany } from '../support/seed.ts';
import type { System } from '../support/system.ts';
import type { ConnectedInstance } from './traffic.ts';

/** A company whose every text, name, address and file contains its mark. */
export interface MarkedCompany {
  company: SeededCompany;
  instances: ConnectedInstance[];
  mark: string;
  /**
   * The first digits of everybody who writes to it or is written to. Nine digits: six occur by chance in the ids, times
   * and hexadecimal files of others.
   */
  phones: string;
}

/** Answers by request and status, e.g. `text 202`. */
export type Answers = Map<string, number>;

/** How many of each kind run at once: enough that at any stop something of each kind is under way. */
const AT_ONCE = 2;
const PAUSE_MS = 50;
const SLOW_UPLOAD_MS = 6_000;
const SLOW_UPLOAD_PIECES = 12;

/** Puts the mark into the rows of a company and of its instances. */
export async function markCompany(
  system: System,
  { company, instances, mark }: MarkedCompany,
): Promise<void> {
  await system.db.query('UPDATE companies SET name = $2, slug = $2 WHERE id = $1', [company.companyId, mark]);
  await system.db.query('UPDATE users SET name = $2, email = $3 WHERE company_id = $1', [
    company.companyId,
    mark,
    `${mark}@example.test`,
  ]);
  await system.db.query(
    `UPDATE instances SET name = $2 || ' ' || id, settings = settings || '{"anti_spam_guard_enabled": false}'
     WHERE id = ANY ($1::uuid[])`,
    [instances.map(({ id }) => id), mark],
  );
}

/**
 * Does everything that a company can do, without a pause and whatever the answers are, until `signal` fires. Its phones
 * keep writing too.
 */
export async function doEverything(
  system: System,
  marked: MarkedCompany,
  signal: AbortSignal,
): Promise<Answers> {
  const answers: Answers = new Map();
  const { company, instances, mark, phones } = marked;
  const control = controlOf(system.sandboxUrl);
  let turn = 0;

  const serverOf = () => system.urls[turn++ % system.urls.length]!;
  const note = (what: string, status: number | string) =>
    answers.set(`${what} ${status}`, (answers.get(`${what} ${status}`) ?? 0) + 1);
  const someone = () => `${phones}${String(turn % 50).padStart(4, '0')}`;
  async function ask(what: string, path: string, body: object | FormData): Promise<Record<string, string>> {
    const isForm = body instanceof FormData;
    const answer = await fetch(serverOf() + path, {
      method: 'POST',
      headers: {
        'x-api-key': company.apiKey,
        ...(isForm ? {} : { 'content-type': 'application/json', 'idempotency-key': randomUUID() }),
      },
      body: isForm ? body : JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    }).catch((err: Error) => note(what, err.name));
    if (!(answer instanceof Response)) return {};
    note(what, answer.status);
    const said = await answer.text().catch(() => '');
    return answer.ok && said ? JSON.parse(said) : {};
  }
  async function repeat(work: (instance: ConnectedInstance) => Promise<unknown>): Promise<void> {
    const one = async (first: number) => {
      for (let nth = first; !signal.aborted; nth += 1) {
        await work(instances[nth % instances.length]!);
        await delay(PAUSE_MS);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, (_, first) => one(first)));
  }

  const at = (instance: ConnectedInstance) => `/v1/instances/${instance.id}`;
  const file = () => new Blob([`${mark} ${randomBytes(900).toString('hex')}`], { type: 'text/plain' });
  async function sendDocument(instance: ConnectedInstance): Promise<void> {
    const form = new FormData();
    form.append('file', file(), `${mark}.txt`);
    const { media_id } = await ask('upload', `${at(instance)}/media`, form);
    if (media_id)
      await ask('document', `${at(instance)}/messages/document`, { to: someone(), media_id, caption: mark });
  }
  await Promise.all([
    repeat((to) =>
      ask('text', `${at(to)}/messages/text`, { to: someone(), text: `${mark} ${randomUUID()}` }),
    ),
    repeat(sendDocument),
    repeat((to) =>
      ask('scheduled', `${at(to)}/messages/scheduled`, {
        type: 'text',
        send_at: new Date(Date.now() + 3_000).toISOString(),
        body: { to: someone(), text: `${mark} ${randomUUID()}` },
      }),
    ),
    repeat((to) => ask('note', `${at(to)}/chats/${someone()}/notes`, { note: mark })),
    repeat((to) => ask('contacts', `${at(to)}/contacts/check`, { phones: [someone()] })),
    repeat((to) => ask('block', `${at(to)}/contacts/${someone()}/block`, {})),
    repeat((to) => ask('label', `${at(to)}/labels`, { name: `${mark} ${turn}`, color: 1 })),
    repeat(async () => {
      const url = `http://127.0.0.1:9/${mark}/${turn}`;
      const { id } = await ask('webhook', '/v1/webhooks', {
        url,
        events: ['label.*'],
        headers: { 'x-mark': mark },
      });
      if (id) await ask('test event', `/v1/webhooks/${id}/test`, {});
    }),
    repeat(() => ask('feedback', '/v1/feedback', { kind: 'bug', message: mark })),
    repeat(() => ask('token', '/v1/tokens', { name: mark })),
    repeat(async ({ id }) => note('slow upload', await uploadSlowly(serverOf(), marked, id))),
    repeat(async (instance) => {
      const from = someone();
      const document = { type: 'document', media_base64: Buffer.from(mark + from).toString('base64') };
      const content =
        turn % 2 === 0 ? { text: mark } : { ...document, mime_type: 'text/plain', file_name: `${mark}.txt` };
      await control.post(`/phones`, { phone: from, name: mark }).catch(() => undefined);
      await control.post(`/phones/${from}/messages`, { to: instance.phone, ...content }).then(
        () => note('phone', 'wrote'),
        () => note('phone', 'was refused'),
      );
    }),
  ]);
  return answers;
}

/** An upload whose body takes seconds: it is admitted long before it is stored. */
async function uploadSlowly(
  url: string,
  marked: MarkedCompany,
  instanceId: string,
): Promise<number | string> {
  const boundary = randomUUID();
  const sent = request(`${url}/v1/instances/${instanceId}/media`, {
    method: 'POST',
    agent: false,
    headers: {
      'x-api-key': marked.company.apiKey,
      'content-type': `multipart/form-data; boundary=${boundary}`,
    },
  });
  const answered = once(sent, 'response').then(
    ([response]) => {
      response.resume();
      return response.statusCode as number;
    },
    (err: NodeJS.ErrnoException) => err.code ?? err.name,
  );
  let isAnswered = false;
  void answered.then(() => {
    isAnswered = true;
  });
  sent.on('error', () => undefined);
  sent.write(
    `--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${marked.mark}.txt"\r\n` +
      'content-type: text/plain\r\n\r\n',
  );
  for (let piece = 0; piece < SLOW_UPLOAD_PIECES && !isAnswered; piece += 1) {
    sent.write(`${marked.mark} ${randomUUID()}\n`);
    await delay(SLOW_UPLOAD_MS / SLOW_UPLOAD_PIECES);
  }
  sent.end(`\r\n--${boundary}--\r\n`);
  return answered;
}
