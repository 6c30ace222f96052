import { interpolate, readCompose, readDeployed, readEnvFile, readKubernetes, readUnits } from './files.ts';

/** The environment that a file of deploy/ gives to one role. */
export interface RoleEnvironment {
  /** The place of the environment, e.g. `compose.yaml: worker-1`. */
  where: string;
  /** The role, as `posthorn <role>` names it. */
  role: string;
  env: Record<string, string>;
}

/** Values for the settings that an operator has to fill in. */
const FILLED: Readonly<Record<string, string>> = {
  API_HOST: 'api.example.com',
  BILLING_HOST: 'billing.example.com',
  PUBLIC_URL: 'https://api.example.com',
  BILLING_PUBLIC_URL: 'https://billing.example.com',
  NETWORK_DRIVERS: 'sandbox',
  MAIL_FROM: 'Example <no-reply@example.com>',
  SMTP_URL: 'smtps://user:password@mail.example.com',
  DATABASE_URL: 'postgres://posthorn:password@db.example.com:5432/posthorn',
  AMQP_URL: 'amqps://posthorn:password@mq.example.com:5671/',
  SUPERADMIN_EMAILS: 'you@example.com',
  BILLING_SIMULATED: 'true',
};

/** An example with its empty values filled in; any other secret gets 64 hex digits. */
export function fillIn(example: Readonly<Record<string, string>>): Record<string, string> {
  const filled = Object.entries(example).map(([name, value]) => [
    name,
    value || (FILLED[name] ?? (name === 'COMPOSE_PROFILES' ? '' : '0123456789abcdef'.repeat(4))),
  ]);
  return Object.fromEntries(filled);
}

/** The environments of all roles in all files. */
export function roleEnvironments(): RoleEnvironment[] {
  const image = imageEnvironment();
  return [
    ...ofCompose('compose.yaml', fillIn(readEnvFile('.env.example')), image),
    ...ofCompose('compose.small.yaml', { ...FILLED }, image),
    ...ofKubernetes(image),
    ...ofUnits(),
  ];
}

export function imageEnvironment(): Record<string, string> {
  const [, line = ''] = /^ENV (.*)$/m.exec(readDeployed('Dockerfile')) ?? [];
  return Object.fromEntries(line.split(' ').map((pair) => pair.split('=') as [string, string]));
}

function ofCompose(
  file: string,
  given: Record<string, string>,
  image: Record<string, string>,
): RoleEnvironment[] {
  return Object.entries<{ command?: string[]; build?: object; environment?: Record<string, string> }>(
    readCompose(file).services,
  ).flatMap(([name, { command = [], build, environment = {} }]) => {
    if (!build) return [];
    const own = Object.entries(environment).map(([key, value]) => [key, interpolate(value, given)]);
    return { where: `${file}: ${name}`, role: command[0]!, env: { ...image, ...Object.fromEntries(own) } };
  });
}

function ofKubernetes(image: Record<string, string>): RoleEnvironment[] {
  const resources = readKubernetes();
  const config = resources.find(({ kind }) => kind === 'ConfigMap').data;
  const secret = fillIn(readEnvFile('kubernetes/secret.example.env'));
  return resources
    .filter(({ kind }) => kind === 'Deployment' || kind === 'Job')
    .map(({ metadata, spec }) => {
      const [container] = spec.template.spec.containers;
      const env: Record<string, string> = { ...image };
      for (const { configMapRef, secretRef } of container.envFrom ?? [])
        Object.assign(env, configMapRef && config, secretRef && secret);
      for (const { name, value, valueFrom } of container.env ?? [])
        env[name] = value ?? secret[valueFrom.secretKeyRef.key];
      return { where: `kubernetes: ${metadata.name}`, role: container.args[0], env };
    });
}

function ofUnits(): RoleEnvironment[] {
  const file = fillIn(readEnvFile('systemd/posthorn.env.example'));
  return readUnits().map(({ file: name, options }) => {
    const own = (options.Environment ?? []).map((pair) => pair.replace('%i', '8091').split('='));
    return {
      where: `systemd: ${name}`,
      role: /^posthorn-(\w+)/.exec(name)![1]!,
      env: { ...Object.fromEntries(own), ...file },
    };
  });
}
