import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ConfigError, loadConfig } from '@posthorn/core/platform/config.ts';

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
