/** Fails in each way that no handler catches, in the name of a session or, with `nobody`, of none. */
import { setTimeout as delay } from 'node:timers/promises';
import { EventEmitter, setTimeout as libraryTimer } from '@posthorn/network/whatsapp/library-surroundings.ts';
import { runAs, runAsNobody } from '@posthorn/network/whatsapp/unheard.ts';

const WAYS: Readonly<Record<string, () => void>> = {
  promise: () => void Promise.reject(new Error('promise')),
  timer: () => void setTimeout(() => fail('timer'), 1),
  asyncTimer: () => void setTimeout(async () => fail('asyncTimer'), 1),
  tick: () => process.nextTick(() => fail('tick')),
  listener: () => void new EventEmitter().on('told', () => fail('listener')).emit('told'),
  asyncListener: () => void new EventEmitter().on('told', async () => fail('asyncListener')).emit('told'),
  libraryTimer: () => void libraryTimer(() => fail('libraryTimer'), 1),
  afterWaiting: () => void delay(1).then(() => fail('afterWaiting')),
};

function fail(what: string): never {
  throw new Error(what);
}

const [who, only] = process.argv.slice(2);
const heard = (name: string) => (err: unknown) => console.log(`${name}: ${(err as Error).message}`);
const names = only ? [only] : Object.keys(WAYS);
for (const name of names) {
  runAs(heard(`one, ${name}`), () => (who === 'nobody' ? runAsNobody(WAYS[name]!) : WAYS[name]!()));
}
await delay(200);
console.log('lives');
