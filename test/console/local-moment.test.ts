import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { localMoment } from '../../console/components/local-moment.ts';

const zone = process.env.TZ;
before(() => {
  process.env.TZ = 'Europe/Berlin';
});
after(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});

test('a field shows the hour that was typed, also while the year is half typed', () => {
  for (const typed of ['0002-02-28T12:00', '0202-02-28T12:00', '2028-02-28T12:00', '2028-07-31T23:59'])
    assert.equal(localMoment(new Date(typed).toISOString()), typed);
});
