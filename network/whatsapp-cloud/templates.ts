/** Templates of the business account, which the network reviews. */
import type { NetworkActions, ReviewedTemplate } from '@posthorn/core/network/actions.ts';
import { SendRefused } from '@posthorn/core/network/driver.ts';
import { GraphRefused } from '@posthorn/core/network/graph-api.ts';
import { z } from 'zod/v4';
import { ask, type CloudContext, reasonOf, sendErrorOf } from './session-context.ts';
import { verdictOf } from './verdicts.ts';

type Args<Op extends keyof NetworkActions> = NetworkActions[Op]['args'];
type Answer<Op extends keyof NetworkActions> = NetworkActions[Op]['answer'];

const FIELDS = 'id,name,language,category,status,rejected_reason,quality_score,components';
/** A template that was not rejected has this for a reason. */
const NO_REASON = 'NONE';

const shown = z.looseObject({
  id: z.string(),
  name: z.string(),
  language: z.string(),
  category: z.string().catch(''),
  status: z.string().catch(''),
  rejected_reason: z.string().nullish().catch(null),
  quality_score: z.looseObject({ score: z.string().optional() }).nullish().catch(null),
  components: z.array(z.record(z.string(), z.unknown())).catch([]),
});

const page = z.object({
  data: z.array(z.unknown()),
  paging: z
    .looseObject({
      cursors: z.looseObject({ after: z.string().optional() }).optional(),
      // Without it there is no further page, although there is a cursor.
      next: z.string().optional(),
    })
    .nullish()
    .catch(null),
});

/** A placeholder with a name: the network wants to be told of these, and takes placeholders for numbered ones otherwise. */
const NAMED = /\{\{[a-z_]/;

const created = z.object({ id: z.string(), status: z.string().catch(''), category: z.string().catch('') });

export async function listTemplates(
  session: CloudContext,
  { limit, cursor, name, status }: Args<'template_list'>,
): Promise<Answer<'template_list'>> {
  const query = new URLSearchParams({ fields: FIELDS, limit: String(limit) });
  if (cursor !== undefined) query.set('after', cursor);
  if (name !== undefined) query.set('name', name);
  if (status !== undefined) query.set('status', status);
  const answer = await asked(session, { method: 'GET', path: `${pathOf(session)}?${query}` }).catch((err) => {
    // The cursor is the only part of the request that can be malformed.
    throw cursor !== undefined && isAbout(err, 'invalid_message') ? new SendRefused('cursor_invalid') : err;
  });
  const { data, paging } = page.parse(answer);
  const templates = data.flatMap((each) => {
    const read = shown.safeParse(each);
    return read.success ? [templateOf(read.data)] : [];
  });
  return { templates, next_cursor: (paging?.next && paging.cursors?.after) || null };
}

export async function createTemplate(
  session: CloudContext,
  args: Args<'template_create'>,
): Promise<Answer<'template_create'>> {
  const { name, language, category, components } = args;
  // The network's code for a taken name is the same as for any other fault of a template.
  if ((await named(session, name)).some((each) => each.language === language))
    throw new SendRefused('template_exists');
  const hasNames = components.some(({ text }) => typeof text === 'string' && NAMED.test(text));
  const body = { name, language, category, components, ...(hasNames ? { parameter_format: 'NAMED' } : {}) };
  try {
    return created.parse(await ask(session, { method: 'POST', path: pathOf(session), body }));
  } catch (cause) {
    if (cause instanceof GraphRefused && verdictOf(cause.code).does === 'refuse')
      return { refused: cause.message };
    throw refusalOf(session, cause);
  }
}

export async function deleteTemplate(
  session: CloudContext,
  { name, language }: Args<'template_delete'>,
): Promise<Answer<'template_delete'>> {
  const all = await named(session, name);
  const found = language === undefined ? all : all.filter((each) => each.language === language);
  if (found.length === 0) throw new SendRefused('template_not_found');
  const query = new URLSearchParams({ name });
  // With its id, only the one in that language goes.
  if (language !== undefined) query.set('hsm_id', found[0]!.id);
  await asked(session, { method: 'DELETE', path: `${pathOf(session)}?${query}` });
  return {};
}

/** Languages of one template: Meta has about 70. */
const LANGUAGES_MAX = 200;

/** Those of exactly this name: the network also gives names that contain it. */
async function named(session: CloudContext, name: string): Promise<ReviewedTemplate[]> {
  const found: ReviewedTemplate[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const asking = { limit: LANGUAGES_MAX, name, ...(cursor === undefined ? {} : { cursor }) };
    const { templates, next_cursor } = await listTemplates(session, asking);
    found.push(...templates.filter((each) => each.name === name));
    cursor = templates.length === 0 ? null : next_cursor;
  }
  return found;
}

function templateOf(template: z.output<typeof shown>): ReviewedTemplate {
  const { id, name, language, category, status, components, rejected_reason: reason } = template;
  return {
    ...{ id, name, language, category, status, components },
    rejected_reason: reason && reason !== NO_REASON ? reason : null,
    quality: template.quality_score?.score ?? null,
  };
}

function pathOf({ credentials }: CloudContext): string {
  return `/${credentials.business_account_id}/message_templates`;
}

async function asked(session: CloudContext, question: Parameters<typeof ask>[1]): Promise<unknown> {
  return ask(session, question).catch((cause) => {
    throw refusalOf(session, cause);
  });
}

/**
 * Reported at once, because the caller waits for the answer. A rate limit of templates holds back no message, and a token
 * that may not manage them may still send.
 */
const OF_TEMPLATES_ALONE = new Set(['rate_limited', 'permission_missing']);

function refusalOf(session: CloudContext, cause: unknown): unknown {
  const reason = reasonOf(cause);
  return OF_TEMPLATES_ALONE.has(reason) ? new SendRefused(reason) : sendErrorOf(session, '', cause);
}

function isAbout(err: unknown, reason: string): boolean {
  return err instanceof SendRefused && err.reason === reason;
}
