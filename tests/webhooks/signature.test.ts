import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { createSecret, signatureHeaders } from '../../src/webhooks/signature.ts';

describe('The signature of a message', () => {
  const message = { id: 'msg_1', time: new Date(), body: '{"type":"file.created","data":{"path":"café.txt"}}' };

  it('is accepted by the library of the specification, and only for this message and secret', () => {
    const secret = createSecret();
    const headers = signatureHeaders(message, [secret]);
    assert.deepEqual(new Webhook(secret).verify(message.body, headers), JSON.parse(message.body));
    assert.throws(() => new Webhook(createSecret()).verify(message.body, headers));
    assert.throws(() => new Webhook(secret).verify(message.body.replace('café', 'cafe'), headers));
    assert.throws(() => new Webhook(secret).verify(message.body, { ...headers, 'webhook-id': 'msg_2' }));
  });

  it('equals the example of the specification', () => {
    const headers = signatureHeaders(
      { id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', time: new Date(1614265330_000), body: '{"test": 2432232314}' },
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    );
    assert.deepEqual(headers, {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    });
  });

  it('exists for each secret, so that receivers accept either during a rotation', () => {
    const secrets = [createSecret(), createSecret()];
    const headers = signatureHeaders(message, secrets);
    for (const secret of secrets) new Webhook(secret).verify(message.body, headers);
  });

  it('uses secrets of 32 random bytes', () => {
    const secret = createSecret();
    assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/);
    assert.notEqual(createSecret(), secret);
  });
});
