import { configSchema } from './config.ts';
import { type SettingDoc, settingGroups } from './setting-docs.ts';

const HEAD = `# Settings

Each process reads them from the environment once, at its start. \`npm start\` needs none of them: it generates the secrets and
runs a database, a broker and a simulated network of its own. \`DATABASE_URL\`, \`AMQP_URL\`, \`NETWORK_DRIVERS\`, \`S3_BUCKET\` or \`GCS_BUCKET\`, \`SMTP_URL\` and
\`ASAAS_API_KEY\` each put a real part in place of an embedded one, independently of the others.
The variables of msgctl and the SDK are in [their guide](guides/environment.md).

\`npm run settings\` writes this file from \`core/platform/config.ts\` and \`core/platform/setting-docs.ts\`.
`;

/** The text of `docs/settings.md`. */
export function settingsDocument(): string {
  const sections = Object.entries(settingGroups).map(([title, settings]) => {
    const rows = Object.entries<SettingDoc>(settings).map(
      ([name, doc]) => `| \`${name}\` | ${defaultOf(name, doc)} | ${doc.meaning} |`,
    );
    return `## ${title}\n\n| setting | default | meaning |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  return [HEAD, ...sections].join('\n');
}

function defaultOf(name: string, { unset = '', start }: SettingDoc): string {
  const schema = configSchema.shape[name as keyof typeof configSchema.shape];
  const parsed = schema.safeParse(undefined);
  if (!parsed.success) return 'required';
  const usual = String(parsed.data ?? '') || unset;
  return start === undefined ? usual : `${usual}; ${start} in \`npm start\``;
}
