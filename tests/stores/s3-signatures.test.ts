import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { GetObjectCommand, HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import type { S3Options } from '../../src/stores/s3/bucket.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { createSigner, EMPTY_HASH, type Signable } from '../../src/stores/s3/signature.ts';
import { file } from '../contract/bytes.ts';

/** "Signature Calculations for the Authorization Header" and "… Query Parameters", Amazon S3 API Reference, examples. */
const PUBLISHED = {
  signing: {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    region: 'us-east-1',
    service: 's3',
  },
  host: 'examplebucket.s3.amazonaws.com',
  time: Date.UTC(2013, 4, 24),
};

describe('A signature equals the published Amazon S3 example for', () => {
  const { signing, host, time } = PUBLISHED;
  const signer = createSigner(signing);
  const cases: readonly { name: string; request: Signable; names: string; signature: string }[] = [
    {
      name: 'GET of an object with a range',
      request: { method: 'GET', path: '/test.txt', query: {}, headers: { host, range: 'bytes=0-9' } },
      names: 'host;range;x-amz-content-sha256;x-amz-date',
      signature: 'f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41',
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
  for (const { name, request, names, signature } of cases) {
    it(name, () => {
      const { authorization, ...headers } = signer.sign(request, EMPTY_HASH, time);
      assert.equal(
        authorization,
        `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
      );
      const added = { 'x-amz-content-sha256': EMPTY_HASH, 'x-amz-date': '20130524T000000Z' };
      assert.deepEqual(headers, { ...request.headers, ...added });
    });
  }

  it('a presigned URL', () => {
    const query = signer.presign({ method: 'GET', path: '/test.txt', query: {}, headers: { host } }, 86_400, time);
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
      signer.sign(request, EMPTY_HASH, each),
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
  'with a dot in the bucket name': { endpoint: 'https://store.example', addressing: 'virtual', bucket: 'my.files' },
  'at an IPv6 address': { endpoint: 'http://[::1]:9000', addressing: 'virtual' },
  'on AWS': { region: 'eu-central-1', addressing: 'virtual' },
  'on AWS in China, with path-style addressing': { region: 'cn-north-1' },
};

describe('A presigned URL', () => {
  for (const [name, overrides] of Object.entries(BUCKETS)) {
    it(`equals the one of the AWS SDK for a bucket ${name}`, async (t) => {
      const options: S3Options = {
        bucket: 'my-files',
        endpoint: undefined,
        region: 'us-east-1',
        accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
        secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
        addressing: 'path',
        publicUrl: undefined,
        concurrency: 4,
        warn: () => {},
        ...overrides,
      };
      t.mock.timers.enable({ apis: ['Date'], now: PUBLISHED.time });
      const { bucket, endpoint, region, accessKeyId, secretAccessKey, addressing } = options;
      const client = new S3Client({
        region,
        ...(endpoint !== undefined && { endpoint }),
        forcePathStyle: addressing === 'path',
        credentials: { accessKeyId, secretAccessKey },
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
      });
      const store = openS3(options);
      t.after(() => store.close?.());
      for (const key of KEYS) {
        for (const purpose of ['read', 'stat'] as const) {
          const entry = { ...ENTRY, path: file(key) };
          const url = await store.presign?.(entry, { expires: 60, download: true, purpose });
          const disposition = new URL(url ?? '').searchParams.get('response-content-disposition') ?? '';
          const object = { Bucket: bucket, Key: key, ResponseContentDisposition: disposition };
          const command = purpose === 'read' ? new GetObjectCommand(object) : new HeadObjectCommand(object);
          assert.deepEqual(partsOf(url ?? ''), partsOf(await getSignedUrl(client, command, { expiresIn: 60 })), key);
        }
      }
      client.destroy();
    });
  }
});

const ENTRY = { kind: 'file', size: 10, etag: 'e', modified: null, type: 'text/plain' } as const;

/** Splits a URL into its undecoded parts, with sorted query parameters. */
function partsOf(url: string): readonly string[] {
  const [address = '', query = ''] = url.split('?');
  return [address, ...query.split('&').toSorted()];
}
