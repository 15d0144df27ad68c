import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextStep } from '../../src/webhooks/retries.ts';
import type { SentMessage } from '../../src/webhooks/sender.ts';

const START = new Date('2026-11-25T12:00:00Z');
const HOUR_MS = 60 * 60_000;

function failure(time: Date, { status = 500, retryAfter }: { status?: number; retryAfter?: number } = {}): SentMessage {
  return { time, durationMs: 1, response: { status, excerpt: '' }, error: 'It failed.', retryAfter };
}

describe('The retries of a delivery', () => {
  it('take a day, with growing delays', () => {
    const delays: number[] = [];
    let time = START.getTime();
    for (let attempts = 0; ; attempts++) {
      const next = nextStep({ attempts, queuedAt: START }, failure(new Date(time)), 0.5);
      if ('status' in next) {
        assert.equal(next.status, 'failed');
        break;
      }
      delays.push(next.retryMs / 1000);
      time += next.retryMs;
    }
    assert.deepEqual(delays, [10, 30, 90, 270, 810, 2430, 7290, 21_600, 21_600, 21_600]);
    assert.ok(time - START.getTime() > 18 * HOUR_MS && time - START.getTime() <= 24 * HOUR_MS);
  });

  it('are spread by a tenth in both directions', () => {
    const delivery = { attempts: 0, queuedAt: START };
    const retryMs = [0, 1].map((random) => nextStep(delivery, failure(START), random));
    assert.deepEqual(retryMs, [{ retryMs: 9000 }, { retryMs: 11_000 }]);
  });

  it('wait for Retry-After, if that is longer', () => {
    const delivery = { attempts: 0, queuedAt: START };
    assert.deepEqual(nextStep(delivery, failure(START, { status: 503, retryAfter: 120 }), 0.5), { retryMs: 120_000 });
    assert.deepEqual(nextStep(delivery, failure(START, { status: 429, retryAfter: 1 }), 0.5), { retryMs: 10_000 });
  });

  it('end after a success, and after 410', () => {
    const delivery = { attempts: 0, queuedAt: START };
    assert.deepEqual(nextStep(delivery, { ...failure(START), error: undefined }), { status: 'delivered' });
    assert.deepEqual(nextStep(delivery, failure(START, { status: 410 })), { status: 'failed' });
  });
});
