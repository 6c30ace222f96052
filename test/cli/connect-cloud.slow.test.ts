import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CloudSending, startCloudSending } from '../support/cloud/cloud-sending.ts';
import { type Cli, createCli } from './run-cli.ts';

describe('msgctl instances connect-cloud', () => {
  let cloud: CloudSending;
  let cli: Cli;
  before(async () => {
    cloud = await startCloudSending();
    cli = createCli({ POSTHORN_URL: cloud.api.url, POSTHORN_API_KEY: cloud.company.apiKey });
  });
  after(async () => {
    cli?.remove();
    await cloud?.close();
  });

  it('gives an instance the credentials of an official number, whose secrets come from the environment alone', async () => {
    const id = await cloud.create();
    const number = cloud.graph.addNumber({ phone: '5511900000099' });
    const args = ['--phone-number-id', number.id, '--business-account-id', number.businessId];
    const without = await cli.run(['instances', 'connect-cloud', id, ...args]);
    assert.equal(without.code, 2);
    assert.match(without.stderr, /POSTHORN_CLOUD_TOKEN and POSTHORN_CLOUD_APP_SECRET/);
    const env = { POSTHORN_CLOUD_TOKEN: number.token, POSTHORN_CLOUD_APP_SECRET: number.appSecret };
    const connected = await cli.run(['instances', 'connect-cloud', id, ...args, '--wait', '--json'], env);
    assert.equal(connected.code, 0, connected.stderr);
    assert.equal(JSON.parse(connected.stdout).state, 'CONNECTED');
    assert.ok(!connected.stdout.includes(number.token));
  });
});
