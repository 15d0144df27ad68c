import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import {
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { openBucket, type S3Options } from '../../src/stores/s3/bucket.ts';
import { presignPart, putObject } from '../../src/stores/s3/operations.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import {
  EMPTY_HASH,
  payloadHash,
  type SignableRequest,
  Signer,
  type SpaceRule,
} from '../../src/stores/s3/signature.ts';
import { errorResponse, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { file } from '../contract/bytes.ts';

/** "Signature Calculations for the Authorization Header" and "… Query Parameters", Amazon S3 API Reference, examples. */
const PUBLISHED = {
  credentials: { accessKeyId: 'AKIAIOSFODNN7EXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY' },
  region: 'us-east-1',
  host: 'examplebucket.s3.amazonaws.com',
  time: Date.UTC(2013, 4, 24),
};

describe('A signature equals the published Amazon S3 example for', () => {
  const { credentials, region, host, time } = PUBLISHED;
  const signer = new Signer(region);
  const cases: readonly {
    name: string;
    request: SignableRequest;
    payload?: string;
    names: string;
    signature: string;
  }[] = [
    {
      name: 'GET of an object with a range',
      request: { method: 'GET', path: '/test.txt', query: {}, headers: { host, range: 'bytes=0-9' } },
      names: 'host;range;x-amz-content-sha256;x-amz-date',
      signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
    },
    {
      name: 'PUT of an object with a body',
      request: {
        method: 'PUT',
        path: '/test%24file.text',
        query: {},
        headers: { host, date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' },
      },
      payload: 'Welcome to Amazon S3.',
      names: 'date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class',
      signature: '98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd',
    },
    {
      name: 'GET with a query parameter without a value',
      request: { method: 'GET', path: '/', query: { lifecycle: '' }, headers: { host } },
      names: 'host;x-amz-content-sha256;x-amz-date',
      signature: 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543',
    },
    {
      name: 'a listing',
      request: { method: 'GET', path: '/', query: { prefix: 'J', 'max-keys': '2' }, headers: { host } },
      names: 'host;x-amz-content-sha256;x-amz-date',
      signature: '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
    },
  ];
  for (const { name, request, payload, names, signature } of cases) {
    it(name, () => {
      const hash = payloadHash(payload === undefined ? undefined : Buffer.from(payload));
      const { authorization, ...headers } = signer.sign(request, hash, credentials, time);
      assert.equal(
        authorization,
        `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
      );
      const added = { 'x-amz-content-sha256': hash, 'x-amz-date': '20130524T000000Z' };
      assert.deepEqual(headers, { ...request.headers, ...added });
    });
  }

  it('a presigned URL', () => {
    const query = signer.presign(
      { method: 'GET', path: '/test.txt', query: {}, headers: { host } },
      86_400,
      credentials,
      time,
    );
    assert.equal(
      query,
      'X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request' +
        '&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host' +
        '&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404',
    );
  });

  it('one day only: another date gives another signature', () => {
    const request = { method: 'GET', path: '/', query: {}, headers: { host } };
    const [first, nextDay, repeated] = [time, time + 86_400_000, time].map((each) =>
      signer.sign(request, EMPTY_HASH, credentials, each),
    );
    assert.notEqual(first?.['authorization'], nextDay?.['authorization']);
    assert.deepEqual(first, repeated);
  });
});

const KEYS = [
  'a',
  ' a b ',
  "a!b'c(d)e*f",
  'a+b%2Fc%%20',
  'ä/日本/🙂/e\u0301',
  'a&b=c?d#e"f<g>h\\i|j^k`l{m}n~o',
  'a;b,c:d@e$f[g]',
];

const BUCKETS: Record<string, Partial<S3Options>> = {
  'with path-style addressing': { endpoint: 'http://127.0.0.1:9000', region: 'auto' },
  'below a path of the endpoint': { endpoint: 'https://store.example/s3', bucket: 'My_Files' },
  'with virtual-hosted addressing': { endpoint: 'https://store.example', addressing: 'virtual' },
  'with virtual-hosted addressing below a path': { endpoint: 'https://store.example/s3', addressing: 'virtual' },
  'with a dot in the bucket name': { endpoint: 'https://store.example', addressing: 'virtual', bucket: 'my.files' },
  'with a dot in the bucket name, over HTTP': {
    endpoint: 'http://store.example',
    addressing: 'virtual',
    bucket: 'my.files',
  },
  'with a name that no host can have': { endpoint: 'http://store.example', addressing: 'virtual', bucket: 'My_Files' },
  'at an IPv4 address': { endpoint: 'http://127.0.0.1:9000', addressing: 'virtual' },
  'at an IPv6 address': { endpoint: 'http://[::1]:9000', addressing: 'virtual' },
  'with temporary credentials': { credentials: { ...PUBLISHED.credentials, sessionToken: 'a/session+token==' } },
  'on AWS': { region: 'eu-central-1', addressing: 'virtual' },
  'on AWS with a dot in its name': { region: 'eu-central-1', addressing: 'virtual', bucket: 'my.files' },
  ...Object.fromEntries(
    ['aws-global', 'us-gov-west-1', 'cn-north-1', 'eusc-de-east-1', 'us-iso-east-1', 'us-isob-east-1', 'eu-isoe-west-1']
      .concat('us-isof-south-1')
      .flatMap((region) => [
        [`on AWS in ${region}`, { region, addressing: 'virtual' }],
        [`on AWS in ${region}, with path-style addressing`, { region }],
      ]),
  ),
};

/** Returns the options of a bucket, and the client of the AWS SDK for it. */
function open(t: TestContext, overrides: Partial<S3Options>) {
  const options: S3Options = {
    bucket: 'my-files',
    endpoint: undefined,
    region: 'us-east-1',
    credentials: PUBLISHED.credentials,
    addressing: 'path',
    publicUrl: undefined,
    concurrency: 4,
    warn: () => {},
    ...overrides,
  };
  const { endpoint, region, addressing, credentials } = options;
  const client = new S3Client({
    region,
    ...(endpoint !== undefined && { endpoint }),
    forcePathStyle: addressing === 'path',
    ...(credentials && { credentials: { ...PUBLISHED.credentials, ...credentials } }),
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
  t.after(() => client.destroy());
  return { options, client };
}

describe('A presigned URL', () => {
  for (const [name, overrides] of Object.entries(BUCKETS)) {
    it(`equals the one of the AWS SDK for a bucket ${name}`, async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: PUBLISHED.time });
      const { options, client } = open(t, overrides);
      const store = openS3(options);
      t.after(() => store.close?.());
      for (const key of KEYS) {
        for (const purpose of ['read', 'stat'] as const) {
          const entry = { ...ENTRY, path: file(key) };
          const url = await store.presign?.(entry, { expires: 60, download: true, purpose });
          const disposition = new URL(url ?? '').searchParams.get('response-content-disposition') ?? '';
          const object = { Bucket: options.bucket, Key: key, ResponseContentDisposition: disposition };
          const command = purpose === 'read' ? new GetObjectCommand(object) : new HeadObjectCommand(object);
          assert.deepEqual(partsOf(url ?? ''), partsOf(await getSignedUrl(client, command, { expiresIn: 60 })), key);
        }
      }
    });
  }
});

describe('The presigned URL of a part', () => {
  for (const name of ['with path-style addressing', 'with temporary credentials', 'on AWS'] as const) {
    it(`equals the one of the AWS SDK for a bucket ${name}`, async (t) => {
      t.mock.timers.enable({ apis: ['Date'], now: PUBLISHED.time });
      const { options, client } = open(t, BUCKETS[name] ?? {});
      const bucket = openBucket(options);
      t.after(() => bucket.client.close());
      const part = { uploadId: '2~a/b+c=', partNumber: 7, size: 8_388_608, md5: '1B2M2Y8AsgTpgAmY7PhCfg==' };
      for (const key of KEYS) {
        const { url, headers } = await presignPart(bucket, key, { ...part, expires: 60 });
        assert.deepEqual(headers, { 'content-md5': part.md5 });
        const command = new UploadPartCommand({
          Bucket: options.bucket,
          Key: key,
          UploadId: part.uploadId,
          PartNumber: part.partNumber,
          ContentMD5: part.md5,
          ContentLength: part.size,
        });
        const signableHeaders = new Set(['content-length', 'content-md5', 'host']);
        const expected = await getSignedUrl(client, command, { expiresIn: 60, signableHeaders });
        assert.deepEqual(partsOf(url), partsOf(expected), key);
      }
    });
  }
});

describe('A signed request', () => {
  for (const endpoint of ['http://store.example', 'https://store.example']) {
    for (const sessionToken of [undefined, 'a/session+token==']) {
      it(`equals the one of the AWS SDK to ${endpoint}, ${sessionToken ? 'with' : 'without'} a session token`, async (t) => {
        t.mock.timers.enable({ apis: ['Date'], now: PUBLISHED.time });
        const credentials = { ...PUBLISHED.credentials, sessionToken };
        const { client } = open(t, { endpoint, credentials });
        const signer = new Signer('us-east-1');
        for (const key of KEYS) {
          const sent = await requestOf(client, {
            Bucket: 'my-files',
            Key: key,
            Body: Buffer.from('content'),
            ContentType: 'text/plain',
            CacheControl: 'no-cache,  private',
            Metadata: { title: 'ä日' },
            IfNoneMatch: '*',
          });
          const { authorization, ...rest } = sent.headers;
          const [, names = ''] = /SignedHeaders=([^,]+)/.exec(authorization ?? '') ?? [];
          const headers = Object.fromEntries(
            names
              .split(';')
              .filter((name) => !SIGNER_HEADERS.has(name))
              .map((name) => [name, rest[name] ?? '']),
          );
          const request = { method: sent.method, path: sent.path, query: sent.query, headers };
          const hash = payloadHash(Buffer.from('content'));
          const signed = signer.sign(request, hash, credentials, PUBLISHED.time);
          assert.equal(signed['authorization'], authorization, key);
          assert.equal(signed['x-amz-content-sha256'], rest['x-amz-content-sha256']);
          assert.equal(signed['x-amz-security-token'], sessionToken);
        }
      });
    }
  }
});

describe('A header value with spaces', () => {
  const VALUE = 'inline; filename="9.41\u202fAM  \u00a0x.png"';
  const credentials = { ...PUBLISHED.credentials };

  /** Returns how the signature of a received request treats spaces. */
  function ruleOf({ method, headers }: { method: string; headers: IncomingHttpHeaders }): SpaceRule | undefined {
    const [, names = ''] = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '') ?? [];
    const signed = names.split(';').filter((name) => !SIGNER_HEADERS.has(name));
    const decoded = signed.map((name) => [name, Buffer.from(String(headers[name]), 'latin1').toString()]);
    const request = { method, path: '/my-files/a', query: {}, headers: Object.fromEntries(decoded) };
    const [, ...parts] = /^(\d{4})(..)(..)T(..)(..)(..)Z$/.exec(String(headers['x-amz-date'])) ?? [];
    const [year = 0, month = 0, ...rest] = parts.map(Number);
    const time = Date.UTC(year, month - 1, ...rest);
    const hash = String(headers['x-amz-content-sha256']);
    const rules = ['ascii', 'unicode'] as const;
    return rules.find(
      (rule) =>
        new Signer('us-east-1').sign(request, hash, credentials, time, rule)['authorization'] === headers.authorization,
    );
  }

  for (const rule of ['ascii', 'unicode'] as const) {
    it(`is signed by the rule of the store, once it is known: ${rule}`, async (t) => {
      const proxy = await startS3Proxy({ endpoint: 'http://127.0.0.1:1' });
      t.after(() => proxy.stop());
      const found: (SpaceRule | undefined)[] = [];
      proxy.intercept((request) => {
        found.push(ruleOf(request));
        return found.at(-1) === rule
          ? { status: 200, headers: { etag: '"e"' } }
          : errorResponse(403, 'SignatureDoesNotMatch');
      });
      const bucket = openBucket({ ...open(t, { endpoint: proxy.url }).options });
      t.after(() => bucket.client.close());
      const attributes = { 'content-disposition': VALUE };
      for (let count = 0; count < 2; count++) await putObject(bucket, 'a', Buffer.from('x'), { attributes });
      assert.deepEqual(found, rule === 'ascii' ? ['ascii', 'ascii'] : ['ascii', 'unicode', 'unicode']);
    });
  }

  it('fails after both rules if the secret is wrong, and other values after one', async (t) => {
    const proxy = await startS3Proxy({ endpoint: 'http://127.0.0.1:1' });
    t.after(() => proxy.stop());
    proxy.intercept(() => errorResponse(403, 'SignatureDoesNotMatch'));
    const bucket = openBucket({ ...open(t, { endpoint: proxy.url }).options });
    t.after(() => bucket.client.close());
    for (const [value, requests] of [
      [VALUE, 2],
      ['inline; filename="a  b.png"', 1],
    ] as const) {
      const before = proxy.requests.length;
      const attributes = { 'content-disposition': value };
      await assert.rejects(putObject(bucket, 'a', Buffer.from('x'), { attributes }), { code: 'wrong-secret-key' });
      assert.equal(proxy.requests.length - before, requests);
    }
  });
});

const SIGNER_HEADERS = new Set(['x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token']);

/** Returns the request that the AWS SDK would send. */
async function requestOf(client: S3Client, input: PutObjectCommandInput) {
  const sent = Promise.withResolvers<Parameters<typeof client.config.requestHandler.handle>[0]>();
  client.config.requestHandler.handle = async (request) => {
    sent.resolve(request);
    throw new Error('The request is not sent.');
  };
  await client.send(new PutObjectCommand(input)).catch(() => {});
  const { method, path, query, headers } = await sent.promise;
  return { method, path, query: query as Record<string, string>, headers };
}

const ENTRY = { kind: 'file', size: 10, etag: 'e', modified: null, type: 'text/plain' } as const;

/** Splits a URL into its undecoded parts, with sorted query parameters. */
function partsOf(url: string): readonly string[] {
  const [address = '', query = ''] = url.split('?');
  return [address, ...query.split('&').toSorted()];
}
