/** The content of a mail, in both forms. */
export interface MailContent {
  subject: string;
  text: string;
  html: string;
}

/** A part of a mail: a paragraph, a code to type, a link to follow, or a list of what to note. */
export type MailPart =
  | string
  | { code: string }
  | { link: string; label: string }
  | { facts: Record<string, string> };

/**
 * Renders text and HTML from the same parts, so that the two can't drift apart. Everything is escaped:
 * names come from strangers.
 */
export function renderMail(subject: string, parts: readonly MailPart[]): MailContent {
  return {
    subject,
    text: `${parts.map(textOf).join('\n\n')}\n`,
    html: [
      '<!doctype html><html><head><meta charset="utf-8">',
      `<title>${escapeHtml(subject)}</title></head>`,
      '<body style="font-family:sans-serif;max-width:36em;margin:2em auto;line-height:1.5">',
      ...parts.map(htmlOf),
      '</body></html>\n',
    ].join('\n'),
  };
}

function textOf(part: MailPart): string {
  if (typeof part === 'string') return part;
  if ('code' in part) return `    ${part.code}`;
  if ('link' in part) return `${part.label}:\n${part.link}`;
  return Object.entries(part.facts)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

function htmlOf(part: MailPart): string {
  if (typeof part === 'string') return `<p>${escapeHtml(part)}</p>`;
  if ('code' in part)
    return `<p style="font-size:1.8em;letter-spacing:.2em"><strong>${escapeHtml(part.code)}</strong></p>`;
  if ('link' in part)
    return `<p><a href="${escapeHtml(part.link)}">${escapeHtml(part.label)}</a><br><small>${escapeHtml(part.link)}</small></p>`;
  const rows = Object.entries(part.facts).map(
    ([name, value]) => `<dt>${escapeHtml(name)}</dt><dd><code>${escapeHtml(value)}</code></dd>`,
  );
  return `<dl>${rows.join('')}</dl>`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
