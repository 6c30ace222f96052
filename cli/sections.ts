/** The headings of `msgctl --help`, each with the first words of its commands. */
const SECTIONS: Readonly<Record<string, readonly string[]>> = {
  'Get going:': [
    'register',
    'quick-register',
    'login',
    'logout',
    'verify-email',
    'resend-code',
    'whoami',
    'dev',
    'doctor',
    'help',
  ],
  'Instances:': ['instances', 'pair', 'profile', 'presence', 'business'],
  'Messages:': ['send', 'bulk', 'message', 'queue', 'scheduled', 'status', 'media'],
  'Chats and people:': ['chats', 'contacts', 'groups', 'labels', 'notes', 'lids'],
  'Events and webhooks:': ['events', 'webhooks', 'deliveries'],
  'Try things out:': ['sandbox', 'trigger', 'playground'],
  'Account and billing:': [
    'account',
    'email',
    'password',
    'oauth',
    'users',
    'tokens',
    'profiles',
    'billing',
    'usage',
    'audit',
  ],
  'Everything else:': ['api', 'mcp', 'completion', 'health', 'metrics', 'openapi', 'feedback', 'admin'],
};

/** The heading of a command; a test holds that each has its own. */
export function sectionOf(word: string): string {
  const found = Object.entries(SECTIONS).find(([, words]) => words.includes(word));
  return found?.[0] ?? 'Everything else:';
}

export const SECTION_WORDS: readonly string[] = Object.values(SECTIONS).flat();
