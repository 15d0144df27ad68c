import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Speedometer, secondsLeft, UploadTotals } from '../../../web/src/model/uploads/totals.ts';
import { fileItem } from './upload-items.ts';

describe('The speed of uploads', () => {
  it('is the average of the last six seconds', () => {
    const speedometer = new Speedometer();
    for (let second = 0; second <= 20; second++) speedometer.record(second * 1000, second * 100);
    for (let second = 21; second <= 30; second++) speedometer.record(second * 1000, 2000 + (second - 20) * 5000);
    assert.equal(speedometer.speed(), 5000);
  });

  it('is unknown during the first second and after a pause', () => {
    const speedometer = new Speedometer();
    speedometer.record(0, 0);
    speedometer.record(400, 1000);
    assert.equal(speedometer.speed(), null);
    speedometer.record(1000, 3000);
    assert.equal(speedometer.speed(), 3000);
    speedometer.reset();
    assert.equal(speedometer.speed(), null);
  });

  it('falls to zero when nothing moves, and the remaining time becomes unknown', () => {
    const speedometer = new Speedometer();
    for (let second = 0; second <= 10; second++) speedometer.record(second * 1000, Math.min(second, 2) * 1000);
    assert.equal(speedometer.speed(), 0);
    assert.equal(secondsLeft(5000, 0), null);
    assert.equal(secondsLeft(5000, null), null);
    assert.equal(secondsLeft(5000, 250), 20);
  });
});

describe('The totals of uploads', () => {
  it('exclude failed, cancelled and skipped files, and count a retried file from zero', () => {
    const totals = new UploadTotals();
    const [done, failing, cancelled, skipped] = ['a', 'b', 'c', 'd'].map((name) => fileItem(name, { size: 100 }));
    assert.ok(done && failing && cancelled && skipped);
    const read = () => {
      totals.publish();
      const { sent, total, part } = totals.summary.value;
      return { sent, total, part };
    };
    for (const item of [done, failing, cancelled, skipped]) totals.add(item);
    assert.deepEqual(read(), { sent: 0, total: 400, part: 0 });

    for (const item of [done, failing, cancelled]) totals.setState(item, 'sending');
    for (const item of [done, failing, cancelled]) totals.setSent(item, 60);
    assert.deepEqual(read(), { sent: 180, total: 400, part: 0.45 });

    totals.setState(done, 'done');
    totals.setState(failing, 'failed');
    totals.setState(cancelled, 'cancelled');
    totals.setState(skipped, 'skipped');
    assert.deepEqual(read(), { sent: 100, total: 100, part: 1 });
    assert.equal(totals.isBusy.value, false);

    totals.setState(failing, 'waiting');
    assert.deepEqual(read(), { sent: 100, total: 200, part: 0.5 });
    assert.equal(failing.sent.value, 0);
    assert.equal(totals.isBusy.value, true);
  });

  it('use the number of files for the progress when no file has bytes', () => {
    const totals = new UploadTotals();
    const items = ['a', 'b', 'c', 'd'].map((name) => fileItem(name, { size: 0 }));
    for (const item of items) totals.add(item);
    for (const item of items.slice(0, 3)) totals.setState(item, 'done');
    totals.publish();
    assert.equal(totals.summary.value.part, 0.75);
  });

  it('exclude files with a name conflict from the remaining time', () => {
    let time = 0;
    const totals = new UploadTotals(() => time);
    const [sending, requesting] = [fileItem('a', { size: 3000 }), fileItem('b', { size: 90_000 })];
    for (const item of [sending, requesting]) totals.add(item);
    totals.setState(requesting, 'conflict');
    totals.setState(sending, 'sending');
    totals.publish();
    time = 2000;
    totals.setSent(sending, 1000);
    totals.publish();
    assert.equal(totals.summary.value.speed, 500);
    assert.equal(totals.summary.value.secondsLeft, 4);
    totals.setState(sending, 'done');
  });
});
