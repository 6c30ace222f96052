import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type MessageStatus, type Step, stepsBetween } from '@posthorn/core/messages/progress.ts';
import fc from 'fast-check';

const step = fc.constantFrom<Step>('sent', 'delivered', 'read', 'played', 'failed');

test('a receipt proves the steps before it', () => {
  assert.deepEqual(stepsBetween('queued', 'delivered'), ['sent', 'delivered']);
  assert.deepEqual(stepsBetween('queued', 'read'), ['sent', 'delivered', 'read']);
  assert.deepEqual(stepsBetween('sent', 'played'), ['delivered', 'played']);
  assert.deepEqual(stepsBetween('read', 'played'), ['played']);
});

test('a message that left the queue can no longer fail, and a failed one stays failed', () => {
  assert.deepEqual(stepsBetween('queued', 'failed'), ['failed']);
  assert.deepEqual(stepsBetween('sent', 'failed'), []);
  assert.deepEqual(stepsBetween('failed', 'sent'), []);
  assert.deepEqual(stepsBetween('failed', 'failed'), []);
  assert.deepEqual(stepsBetween('failed', 'delivered', 'send_failed'), []);
});

test('proof that a message of unknown outcome was sent takes its failure back', () => {
  assert.deepEqual(stepsBetween('failed', 'sent', 'outcome_unknown'), ['sent']);
  assert.deepEqual(stepsBetween('failed', 'read', 'outcome_unknown'), ['sent', 'delivered', 'read']);
  assert.deepEqual(stepsBetween('failed', 'failed', 'outcome_unknown'), []);
  // A report of the network itself is a proof, too.
  assert.deepEqual(stepsBetween('failed', 'failed', 'outcome_unknown', true), ['failed']);
  assert.deepEqual(stepsBetween('failed', 'failed', 'undeliverable', true), []);
  assert.deepEqual(stepsBetween('sent', 'failed', null, true), ['failed']);
  assert.deepEqual(stepsBetween('delivered', 'failed', null, true), []);
});

test('no step causes a second event and none goes back, whatever arrives, however often and in any order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 20 }), (arrivals) => {
      let status: MessageStatus = 'queued';
      const told: Step[] = [];
      for (const arrival of arrivals) {
        for (const taken of stepsBetween(status, arrival)) {
          told.push(taken);
          status = taken;
        }
      }
      assert.equal(new Set(told).size, told.length);
      const order: Step[] = told.includes('failed') ? ['failed'] : ['sent', 'delivered', 'read', 'played'];
      assert.deepEqual(
        told,
        order.filter((one) => told.includes(one)),
      );
      if (told.some((one) => one === 'delivered' || one === 'read' || one === 'played')) {
        assert.ok(told.includes('sent') && told.includes('delivered'));
      }
    }),
  );
});
