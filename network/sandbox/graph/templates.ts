/** Templates of the simulated Cloud API: made, listed, deleted, and reviewed by the tester. */
import { type GraphDeps, GraphError } from './answer.ts';
import { type GraphTemplate, newGraphId, type OfficialNumber, takeFault } from './model.ts';

type Body = Record<string, unknown>;

/** Faults placed for this name hit what is asked about templates. */
export const TEMPLATE_DESK = 'message_templates';

/** Answers what is asked at `/{business account}/message_templates`. */
export function answerTemplates(
  deps: GraphDeps,
  number: OfficialNumber,
  asked: { method: string; query: URLSearchParams; body(): Body },
): Body {
  const fault = takeFault(deps.world, TEMPLATE_DESK, deps.random);
  if (fault?.kind === 'error') throw new GraphError(fault.code);
  if (asked.method === 'GET') return list(deps, number, asked.query);
  if (asked.method === 'POST') return create(deps, number, asked.body());
  return remove(deps, number, asked.query);
}

/** Meta's limits of a page. */
const PAGE = 25;

function list({ world }: GraphDeps, number: OfficialNumber, query: URLSearchParams): Body {
  const [name, status, after] = ['name', 'status', 'after'].map((key) => query.get(key));
  const all = [...world.templates.values()].filter(
    (each) =>
      each.businessId === number.businessId &&
      // As Meta does: names that contain it, too.
      (!name || each.name.includes(name)) &&
      (!status || each.status === status),
  );
  const from = after ? all.findIndex(({ id }) => id === decoded(after)) + 1 : 0;
  if (after && from === 0) throw new GraphError(100, '(#100) Invalid cursor');
  const shown = all.slice(from, from + Number(query.get('limit') ?? PAGE));
  const last = shown.at(-1);
  const isMore = last !== undefined && last.id !== all.at(-1)!.id;
  return {
    data: shown.map(({ id, name, language, category, status, rejectedReason, quality, components }) => ({
      ...{ id, name, language, category, status, components },
      rejected_reason: rejectedReason,
      quality_score: { score: quality },
    })),
    paging: {
      cursors: last ? { after: Buffer.from(last.id).toString('base64') } : {},
      ...(isMore ? { next: 'https://graph.facebook.com/next' } : {}),
    },
  };
}

function decoded(cursor: string): string {
  return Buffer.from(cursor, 'base64').toString();
}

function create({ world }: GraphDeps, number: OfficialNumber, body: Body): Body {
  const { name, language, category, components } = body;
  if (typeof name !== 'string' || !/^[a-z0-9_]{1,512}$/.test(name)) throw new GraphError(100, 'Invalid name');
  const parts = Array.isArray(components) ? (components as Body[]) : [];
  const text = parts.find(({ type }) => type === 'BODY')?.text;
  if (category !== 'AUTHENTICATION' && typeof text !== 'string')
    throw new GraphError(100, 'The template has no body');
  if (typeof text === 'string' && /^\{\{|\}\}$/.test(text.trim()))
    throw new GraphError(100, 'Variables cannot be at the start or end of the template');
  if (typeof text === 'string' && /\{\{[a-z_]/.test(text) && body.parameter_format !== 'NAMED')
    throw new GraphError(100, 'The placeholders are not numbered');
  for (const button of parts.flatMap(({ buttons }) => (Array.isArray(buttons) ? (buttons as Body[]) : [])))
    if (/^(ONE|ZERO)_TAP$/.test(String(button.otp_type)) && !button.supported_apps)
      throw new GraphError(100, 'supported_apps is missing');
  const isTaken = [...world.templates.values()].some(
    (each) => each.businessId === number.businessId && each.name === name && each.language === language,
  );
  if (isTaken) throw new GraphError(100, 'Content in this language already exists');
  const template: GraphTemplate = {
    ...{ id: newGraphId(), businessId: number.businessId, name, components: parts },
    ...{ language: String(language), category: String(category) },
    ...{ status: 'PENDING', rejectedReason: 'NONE', quality: 'UNKNOWN' },
  };
  world.templates.set(template.id, template);
  return { id: template.id, status: template.status, category: template.category };
}

function remove({ world }: GraphDeps, number: OfficialNumber, query: URLSearchParams): Body {
  const [name, id] = [query.get('name'), query.get('hsm_id')];
  const found = [...world.templates.values()].filter(
    (each) => each.businessId === number.businessId && each.name === name && (!id || each.id === id),
  );
  if (found.length === 0) throw new GraphError(100, 'Message template was not found');
  for (const each of found) world.templates.delete(each.id);
  return { success: true };
}

/** The outcome of a review, a pause or the like; posted to the numbers of the account. */
export function reviewTemplate(
  deps: GraphDeps,
  template: GraphTemplate,
  status: string,
  reason = 'NONE',
): void {
  template.status = status;
  template.rejectedReason = reason;
  tell(deps, template, 'message_template_status_update', { event: status, reason });
}

export function rateTemplate(deps: GraphDeps, template: GraphTemplate, quality: string): void {
  const before = template.quality;
  template.quality = quality;
  tell(deps, template, 'message_template_quality_update', {
    previous_quality_score: before,
    new_quality_score: quality,
  });
}

export function recategorizeTemplate(deps: GraphDeps, template: GraphTemplate, category: string): void {
  const before = template.category;
  template.category = category;
  tell(deps, template, 'template_category_update', { previous_category: before, new_category: category });
}

/** Without the number: it is about the account. Meta posts it to the address of the app, which is that of one number. */
function tell(deps: GraphDeps, template: GraphTemplate, field: string, more: Body): void {
  const number = [...deps.world.numbers.values()].find(
    ({ businessId }) => businessId === template.businessId,
  );
  if (!number) return;
  const value = {
    message_template_id: Number(template.id),
    message_template_name: template.name,
    message_template_language: template.language,
    ...more,
  };
  deps.post(number, { field, value });
}
