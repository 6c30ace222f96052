import { createInProcessBroker } from '@posthorn/core/platform/broker/in-process.ts';
import { createRabbitBroker } from '@posthorn/core/platform/broker/rabbitmq.ts';
import { createLog } from '@posthorn/core/platform/process/log.ts';
import { createTestVhost } from '../support/rabbitmq.ts';
import { testBroker } from './broker-conformance.ts';

const log = createLog({ level: process.env.LOG_LEVEL ?? 'silent', role: 'test' });

testBroker('in process', async () => createInProcessBroker());

testBroker('RabbitMQ', async () => {
  const { url } = await createTestVhost();
  return createRabbitBroker({ url, log });
});
