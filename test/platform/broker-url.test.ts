import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brokerUrl, nodesOf } from '@posthorn/core/platform/broker/broker-url.ts';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { testConfig } from '../support/config.ts';
import { waitFor } from '../support/process.ts';

describe('an AMQP_URL', () => {
  test('with several nodes names each, and is a URL with the first', () => {
    const url = brokerUrl('amqps://u:p%40@a:5671,b,10.0.0.3:5673/vhost?heartbeat=5');
    assert.deepEqual(nodesOf(url), ['a:5671', 'b', '10.0.0.3:5673']);
    const { protocol, username, password, host, pathname, searchParams } = new URL(url);
    assert.deepEqual(
      [protocol, username, password, host, pathname],
      ['amqps:', 'u', 'p%40', 'a:5671', '/vhost'],
    );
    assert.equal(searchParams.get('heartbeat'), '5');
  });

  test('with one node is left as it is', () => {
    for (const url of ['amqp://u:p@a:5672/v?x=1', 'amqp://a', 'amqps://u@[::1]:5671/']) {
      assert.equal(brokerUrl(url), url);
      assert.equal(nodesOf(url), null);
    }
  });

  for (const [url, why] of [
    ['http://u:secret@a,b/', 'must be a URL with amqp:// or amqps://'],
    ['amqp://u:secret@a:5672,b:99999/', 'is not a URL'],
    ['amqp://u:secret@a,,b/', 'names an empty host'],
    ['amqp://u:secret@/', 'names an empty host'],
    ['amqp://u:secret@a,[::1]:5672/', 'names several nodes: use host names or IPv4'],
  ] as const)
    test(`is refused: ${why}: ${url.replace('secret', '...')}`, () => {
      assert.throws(
        () => testConfig({ AMQP_URL: url }),
        (err: Error) => err.message.includes(`AMQP_URL: ${why}`) && !err.message.includes('secret'),
      );
    });
});

test('a broker that was never reached is told by the name of its setting, and not as lost', async () => {
  const told: string[] = [];
  const broker = createRabbitBroker({
    url: 'amqp://127.0.0.1:1',
    log: createLog({ level: 'warn', role: 'test', to: { write: (line) => void told.push(line) } }),
  });
  await waitFor(() => told.length > 0);
  await broker.close();
  assert.match(told[0]!, /"msg":"the broker of AMQP_URL is not reached, trying again"/);
});
