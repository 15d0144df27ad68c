import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isStoreError } from '../../src/model/error.ts';
import { createAddressPolicy } from '../../src/webhooks/address-policy.ts';
import { parseWebhookUrl } from '../../src/webhooks/webhook.ts';

const PUBLIC = ['1.1.1.1', '8.8.8.8', '100.63.255.255', '100.128.0.1', '172.15.0.1', '172.32.0.1', '192.167.255.255'];
const PUBLIC_IPV6 = ['2606:4700:4700::1111', '2a01:4f8::1', '2003::1'];

const PRIVATE: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.1.2.3'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  private: ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1'],
  'shared, of carriers': ['100.64.0.1', '100.127.255.255'],
  'link-local': ['169.254.169.254', 'fe80::1', 'febf::1', 'fe80::1%eth0'],
  'unique-local': ['fc00::1', 'fd00:ec2::254'],
  'site-local': ['fec0::1'],
  'of protocols': ['192.0.0.1', '192.0.0.170', '2001::1', '2001:1::1', '2001:20::1'],
  'of documentation and benchmarks': [
    '192.0.2.1',
    '198.51.100.1',
    '203.0.113.1',
    '198.18.0.1',
    '2001:db8::1',
    '3fff::1',
  ],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  'reserved, and broadcast': ['240.0.0.1', '255.255.255.255', '192.88.99.1', '4000::1', '100::1'],
  unspecified: ['::'],
  'IPv4 in IPv6': [
    '::ffff:127.0.0.1',
    '::ffff:8.8.8.8',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '64:ff9b::808:808',
    '64:ff9b:1::1',
    '2002:7f00:1::',
    '2001:0:7f00:1::',
  ],
  'no address': ['', 'localhost', '127.1', '1.2.3.4.5'],
};

describe('The addresses that webhooks may reach', () => {
  const none = createAddressPolicy([]);

  it('are all addresses of the public internet', () => {
    for (const address of [...PUBLIC, ...PUBLIC_IPV6]) {
      assert.ok(none.isReachable(address), address);
      assert.ok(!none.isAllowedPrivate(address), address);
    }
  });

  for (const [kind, addresses] of Object.entries(PRIVATE)) {
    it(`are no addresses that are ${kind}`, () => {
      for (const address of addresses) assert.ok(!none.isReachable(address), address);
    });
  }

  it('include the networks of the setting, and only those', () => {
    const policy = createAddressPolicy(['10.1.0.0/16', '192.168.1.7', 'fd00::/8', 'loopback']);
    for (const address of ['10.1.2.3', '192.168.1.7', 'fd12::1', '127.0.0.1', '127.1.2.3', '::1', '1.1.1.1']) {
      assert.ok(policy.isReachable(address), address);
    }
    for (const address of ['10.2.0.1', '192.168.1.8', 'fe80::1', '169.254.169.254']) {
      assert.ok(!policy.isReachable(address), address);
    }
    assert.ok(policy.isAllowedPrivate('10.1.2.3') && !policy.isAllowedPrivate('1.1.1.1'));
  });
});

describe('The URL of a webhook', () => {
  const none = createAddressPolicy([]);
  const loopback = createAddressPolicy(['loopback']);
  const refused = (url: string, message: RegExp, policy = none) =>
    assert.throws(
      () => parseWebhookUrl(url, policy),
      (error) => isStoreError(error, 'invalid-request') && message.test(error.message),
      url,
    );

  it('is https: with a host name or a public address, in its canonical form', () => {
    assert.equal(parseWebhookUrl('https://Hooks.Example.org', none), 'https://hooks.example.org/');
    assert.equal(parseWebhookUrl('https://1.1.1.1:8443/a?b=c', none), 'https://1.1.1.1:8443/a?b=c');
    assert.equal(parseWebhookUrl('https://[2606:4700::1]/', none), 'https://[2606:4700::1]/');
  });

  it('has no other scheme, credentials or fragment', () => {
    for (const url of ['', 'hooks.example.org', 'ftp://example.org', 'file:///etc/passwd', 'unix:/run/x.sock']) {
      refused(url, /^The webhook URL ".*" must begin with https:\/\/\.$/);
    }
    refused('https://user@example.org/', /username or a password/);
    refused('https://:secret@example.org/', /username or a password/);
    refused('https://example.org/#a', /fragment/);
    refused(`https://example.org/${'a'.repeat(2000)}`, /longer than 2000 characters/);
  });

  it('has no private address in any spelling', () => {
    for (const host of [
      '127.0.0.1',
      '127.0.0.1.',
      '127.1',
      '0x7f.0.0.1',
      '017700000001',
      '2130706433',
      '０x7f.1',
      '[::1]',
      '[::ffff:127.0.0.1]',
      '[64:ff9b::10.0.0.1]',
      '169.254.169.254',
    ]) {
      refused(`https://${host}/`, /private or reserved address/);
    }
  });

  it('is http: only where WEBHOOK_NETWORKS can allow it', () => {
    refused('http://example.org/', /must begin with https:\/\/, because http:\/\/ is only for the networks/);
    refused('http://1.1.1.1/', /must begin with https/, loopback);
    assert.equal(parseWebhookUrl('http://127.0.0.1:1234/', loopback), 'http://127.0.0.1:1234/');
    // The addresses of a host name are checked for each request.
    assert.equal(parseWebhookUrl('http://localhost:1234/', loopback), 'http://localhost:1234/');
  });
});
