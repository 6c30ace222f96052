import { createHash } from 'node:crypto';

/**
 * URL-safe, derived from the company's first name and never changed after (ACC-3). A name without a
 * single Latin letter or digit gets one from its hash.
 */
export function slugOf(companyName: string): string {
  const slug = companyName
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    // No two dashes stand together by now, so there is one at each end at most.
    .replace(/^-|-$/g, '')
    .slice(0, 80)
    .replace(/-$/, '');
  if (slug !== '') return slug;
  return `company-${createHash('sha256').update(companyName.toLowerCase()).digest('hex').slice(0, 10)}`;
}
