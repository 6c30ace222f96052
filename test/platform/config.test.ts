import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, configSchema, loadConfig } from '@posthorn/core/platform/config.ts';

const REQUIRED = {
  DATABASE_URL: 'postgres://127.0.0.1/x',
  AMQP_URL: 'amqp://127.0.0.1',
  JWT_SECRET: 'x'.repeat(32),
  ENCRYPTION_KEY: '5a'.repeat(32),
};

describe('an unusable setting stops the start:', () => {
  const refused = (name: string, value: string) =>
    assert.throws(() => loadConfig({ ...REQUIRED, [name]: value }), ConfigError, `${name}=${value}`);

  it('a sender of mails that is no address', () => {
    const taken = ['a@example.com', 'Posthorn <no-reply@example.com>', '"A, B" <a@b.c>', '<a@b.c>'];
    for (const value of taken) assert.equal(loadConfig({ ...REQUIRED, MAIL_FROM: value }).MAIL_FROM, value);
    for (const value of ['Posthorn', 'a@', 'a@b c', 'Name <a>', 'a@b.c, d@e.f', 'N\n<a@b.c>'])
      refused('MAIL_FROM', value);
  });

  it('a private server without its port', () => {
    const { MEDIA_PRIVATE_HOSTS } = loadConfig({
      ...REQUIRED,
      MEDIA_PRIVATE_HOSTS: 'Minio:9000, 10.0.0.7:80,[fd00::7]:443',
    });
    assert.deepEqual(MEDIA_PRIVATE_HOSTS, ['minio:9000', '10.0.0.7:80', '[fd00::7]:443']);
    for (const value of ['minio', 'http://minio:9000', 'minio:9000/files', 'minio:0', 'fd00::7:443', '*:80'])
      refused('MEDIA_PRIVATE_HOSTS', value);
  });

  it('any other one, in words that say which form is taken', () => {
    const wrong = [
      'no such',
      '-1',
      '1.5',
      '1e99',
      'http://x:y:z',
      's3://bucket/path',
      'a, b c',
      '127.0.0.1:80',
    ];
    for (const name of Object.keys(configSchema.shape))
      for (const value of wrong)
        try {
          loadConfig({ ...REQUIRED, [name]: value });
        } catch (err) {
          assert.ok(err instanceof ConfigError);
          assert.doesNotMatch(err.message, /Invalid|expected|received|Too (small|big)/, `${name}=${value}`);
        }
    for (const [name, value, message] of [
      ['PORT', 'eighty', 'PORT: must be a whole number from 0 to 65535'],
      ['DATABASE_POOL_SIZE', '0', 'DATABASE_POOL_SIZE: must be a whole number, 1 or more'],
      ['HUMANIZE_MAX_SECONDS', '-1', 'HUMANIZE_MAX_SECONDS: must be a number from 0 to 86400'],
      ['PLAYGROUND_ENABLED', 'perhaps', 'PLAYGROUND_ENABLED: must be true or false'],
      ['NODE_ENV', 'prod', 'NODE_ENV: must be development, test or production'],
      ['JWT_SECRET', 'short', 'JWT_SECRET: must have at least 32 characters'],
      ['SMTP_URL', 'mail.example.com', 'SMTP_URL: must be a URL with smtp:// or smtps://'],
      ['HOST', 'http://a', 'HOST: must be an IP address or a host name, without a port'],
      ['SUPERADMIN_EMAILS', 'me', 'SUPERADMIN_EMAILS: must be e-mail addresses, separated by commas'],
      ['S3_BUCKET', 's3://media', 'S3_BUCKET: must be the name of a bucket, without s3://, gs:// or a path'],
    ] as const)
      assert.throws(() => loadConfig({ ...REQUIRED, [name]: value }), { name: 'ConfigError', message });
  });

  it('but not a blank one, which counts as none', () => {
    assert.equal(loadConfig({ ...REQUIRED, PORT: ' ' }).PORT, 8080);
  });

  it('two buckets, or half a credential', () => {
    const bucket = { ...REQUIRED, S3_BUCKET: 'bucket' };
    assert.throws(() => loadConfig({ ...bucket, GCS_BUCKET: 'other' }), {
      name: 'ConfigError',
      message: 'S3_BUCKET: media is stored in one bucket, and GCS_BUCKET names another',
    });
    for (const [given, missing] of [
      ['S3_ACCESS_KEY_ID', 'S3_SECRET_ACCESS_KEY'],
      ['S3_SECRET_ACCESS_KEY', 'S3_ACCESS_KEY_ID'],
    ] as const)
      assert.throws(() => loadConfig({ ...bucket, [given]: 'x' }), {
        name: 'ConfigError',
        message: `${missing} is required with ${given}`,
      });
    assert.equal(loadConfig(bucket).S3_REGION, 'us-east-1');
    for (const [name, value] of [
      ['S3_ENDPOINT', 'minio:9000'],
      ['S3_SERVER_SIDE_ENCRYPTION', 'rot13'],
      ['S3_FORCE_PATH_STYLE', 'perhaps'],
    ] as const)
      refused(name, value);
  });
});
