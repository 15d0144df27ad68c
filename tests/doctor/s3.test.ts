import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PutBucketCorsCommand } from '@aws-sdk/client-s3';
import { atEnd, temporaryFolder } from '../../testing/holdall.ts';
import { createBucket, type TestBucket } from '../../testing/servers/bucket.ts';
import { testObjectStore } from '../../testing/servers/object-store.ts';
import {
  errorResponse,
  type Interceptor,
  type OwnResponse,
  type S3Proxy,
  startS3Proxy,
} from '../../testing/servers/s3-proxy.ts';
import { settingsOf } from '../../testing/servers/settings.ts';
import { startInProcess } from '../../testing/service.ts';
import { until } from '../../testing/until.ts';
import type { Need } from '../runner/needs.ts';
import { allowOrigin } from '../web/stored.ts';
import { diagnose } from './diagnosis.ts';

export const needs: readonly Need[] = ['bucket'];

const SCRIPT = fileURLToPath(new URL('../../bin/holdall.js', import.meta.url));

async function openBucket(t: TestContext): Promise<{ bucket: TestBucket; settings: Record<string, string> }> {
  const bucket = await createBucket();
  atEnd(t, () => bucket.remove());
  return { bucket, settings: settingsOf(bucket) };
}

/** Starts a proxy in front of the bucket with this interceptor. */
async function openProxied(
  t: TestContext,
  interceptor: Interceptor,
): Promise<{ bucket: TestBucket; proxy: S3Proxy; settings: Record<string, string> }> {
  const { bucket, settings } = await openBucket(t);
  const proxy = await startS3Proxy(testObjectStore());
  atEnd(t, () => proxy.stop());
  proxy.intercept(interceptor);
  return { bucket, proxy, settings: { ...settings, S3_ENDPOINT: proxy.url } };
}

/** The response of a store that accepted an object. */
const ACCEPTED: OwnResponse = { status: 200, headers: { etag: '"1"' } };

const WRONG_MD5 = 'AAAAAAAAAAAAAAAAAAAAAA==';

const isEmpty = async (bucket: TestBucket) => {
  assert.deepEqual(await bucket.keys(), []);
  assert.deepEqual(await bucket.openUploads(), []);
};

describe('holdall doctor on a bucket', () => {
  it('reports no failure, lists missing bucket rules and leaves no objects', async (t) => {
    const { bucket, settings } = await openBucket(t);
    const { port } = await startInProcess(t, { settings });
    const { code, of, with: having } = await diagnose(settings, '--url', `http://127.0.0.1:${port}`);
    assert.deepEqual([code, having('failed')], [0, []]);
    assert.deepEqual(having('warning'), ['bucket-leftovers', 'bucket-cors']);
    assert.equal(
      of('bucket-leftovers').advice,
      `Set the rule "abort-incomplete-uploads" from docs/how-to/stores/s3.md: aws s3api put-bucket-lifecycle-configuration --bucket ${bucket.name} --lifecycle-configuration file://lifecycle.json (MinIO needs none).`,
    );
    assert.equal(
      of('bucket-cors').advice,
      `Set the rules of "Large files and browsers" in docs/how-to/stores/s3.md with "AllowedOrigins": ["http://127.0.0.1:${port}"]: aws s3api put-bucket-cors --bucket ${bucket.name} --cors-configuration file://cors.json`,
    );
    assert.match(of('bucket-versions').found, /^The bucket has no object versions/);
    assert.equal(of('url-redirect').found, `A file of 9 MiB is redirected to ${settings['S3_ENDPOINT']}.`);
    await isEmpty(bucket);
  });

  it('reports that the store ignores conditions and checksums, and that its clock differs', async (t) => {
    const { bucket, settings } = await openProxied(t, ({ operation, key, headers }) => {
      const late = new Date(Date.now() + 400_000).toUTCString();
      if (operation === 'HeadBucket') return { status: 403, headers: { date: late } };
      const isConditional =
        key?.endsWith('/plain.txt') && (headers['if-none-match'] ?? headers['if-match']) !== undefined;
      return operation === 'PutObject' && (isConditional || headers['content-md5'] === WRONG_MD5)
        ? ACCEPTED
        : undefined;
    });
    const CORSRules = [{ AllowedOrigins: ['*'], AllowedMethods: ['GET'], AllowedHeaders: ['range'] }];
    await bucket.client.send(new PutBucketCorsCommand({ Bucket: bucket.name, CORSConfiguration: { CORSRules } }));
    const { of, with: having } = await diagnose(settings, '--url', 'https://127.0.0.1:1');
    assert.deepEqual(having('failed'), ['bucket-address', 'url-live']);
    assert.equal(
      of('bucket-cors').found,
      'The CORS rules of the bucket allow https://127.0.0.1:1 to read large files, but not to upload them directly: uploads pass through the service.',
    );
    assert.match(of('bucket-cors').advice ?? '', /"AllowedOrigins": \["https:.*UPLOAD_DIRECT=false/);
    assert.equal(
      of('bucket-address').advice,
      'Set S3_ENDPOINT to an https:// URL of the store that all users can reach.',
    );
    assert.equal(
      of('url-live').advice,
      'Start the service and the reverse proxy, open the firewall for 127.0.0.1:1, or correct PUBLIC_URL. On the same machine, try --url http://127.0.0.1:8080.',
    );
    assert.equal(of('bucket-clock').status, 'warning');
    assert.match(
      of('bucket-clock').found,
      /^The clock of the store is (3\d\d|400) seconds ahead of the clock of this machine\./,
    );
    assert.equal(of('bucket-clock').advice, 'Correct the wrong clock. On this machine: timedatectl set-ntp true');
    assert.deepEqual(
      [of('bucket-conditions').status, of('bucket-conditions').advice],
      [
        'warning',
        'Use a store that supports conditional writes, or let only one client at a time write to a file: docs/reference/stores-s3.md, "Conditional writes".',
      ],
    );
    assert.equal(
      of('bucket-checksums').advice,
      'Use https:// in S3_ENDPOINT, which detects corruption, and check for a proxy in front of the store that drops Content-MD5.',
    );
    await isEmpty(bucket);
  });

  it("reports that the store can't copy keys with special characters, and its missing features", async (t) => {
    const { bucket, settings } = await openProxied(t, ({ operation, headers }) => {
      if (operation === 'CopyObject' && String(headers['x-amz-copy-source']).includes('%2B'))
        return errorResponse(404, 'NoSuchKey');
      if (operation === 'UploadPartCopy') return errorResponse(501, 'NotImplemented');
      return operation === 'PutObject' && headers['if-none-match'] !== undefined
        ? errorResponse(501, 'NotImplemented')
        : undefined;
    });
    await allowOrigin(bucket, 'http://127.0.0.1:1');
    const { of, with: having } = await diagnose(settings, '--url', 'http://127.0.0.1:1');
    assert.deepEqual(having('failed'), ['bucket-copy-names', 'url-live']);
    assert.match(of('bucket-cors').found, /allow http:.* to read large files, and to upload them directly\.$/);
    assert.deepEqual(having('warning'), ['bucket-conditions', 'bucket-leftovers', 'bucket-abilities']);
    assert.match(of('bucket-copy-names').found, /The store reports that ".*" does not exist, although it does\./);
    assert.match(of('bucket-copy-names').advice ?? '', /^Use another store, or a newer version:/);
    assert.match(of('bucket-abilities').found, /If-None-Match on PutObject: .* UploadPartCopy: /);
    assert.match(of('bucket-conditions').found, /^The store does not support conditions on PutObject \(501\)/);
    await isEmpty(bucket);
  });

  it('reports that the store returns unsorted listings', async (t) => {
    const reverse = (body: string) => {
      const objects = body.match(/<Contents>.*?<\/Contents>/gs) ?? [];
      return body.replaceAll(/<Contents>.*?<\/Contents>/gs, () => objects.pop() ?? '');
    };
    const { bucket, settings } = await openProxied(t, ({ operation }) =>
      operation === 'ListObjectsV2' ? { rewrite: reverse } : undefined,
    );
    const { of, with: having } = await diagnose(settings);
    assert.deepEqual(having('failed'), ['bucket-copy-names']);
    assert.match(of('bucket-copy-names').found, /^The object store lists keys out of order/);
    await isEmpty(bucket);
  });

  it('reports the permission that the key lacks and the location of orphaned probe objects', async (t) => {
    const { bucket, settings } = await openProxied(t, ({ operation }) =>
      operation.startsWith('DeleteObject') ? errorResponse(403, 'AccessDenied') : undefined,
    );
    const { code, of } = await diagnose(settings);
    assert.equal(code, 1);
    assert.equal(
      of('store-delete').advice,
      `Give the key in S3_ACCESS_KEY_ID the permission s3:DeleteObject on arn:aws:s3:::${bucket.name}/* (on R2 "Object Read & Write" for ${bucket.name}). See docs/how-to/stores/aws-s3.md for the whole policy.`,
    );
    const [left = ''] = await bucket.keys();
    const folder = left.slice(0, left.indexOf('/') + 1);
    assert.match(folder, /^holdall-doctor-/);
    assert.equal(
      of('probe-removed').advice,
      `Delete the folder "${folder}" manually. It contains only files of the doctor.`,
    );
  });

  const refused: Readonly<Record<string, { settings: Record<string, string>; advice: string }>> = {
    'the secret is another one': {
      settings: { S3_SECRET_ACCESS_KEY: 'hunter2hunter2' },
      advice:
        'Copy the secret of S3_ACCESS_KEY_ID into S3_SECRET_ACCESS_KEY again. In .env, quote a value that contains #. If the secret is correct, check for a proxy in front of the store that changes Host or the path.',
    },
    'there is no such bucket': {
      settings: { S3_BUCKET: 'nobody-has-this-one' },
      advice:
        'Set S3_BUCKET to a bucket of this account. On R2, also check the account and the jurisdiction in S3_ENDPOINT.',
    },
    'there is no such key': {
      settings: { S3_ACCESS_KEY_ID: 'nobody' },
      advice:
        'Set S3_ACCESS_KEY_ID to the ID of a key of this store, and check that S3_ENDPOINT is the store that issued the key.',
    },
  };
  it('gives advice on a wrong secret, access key or bucket', async (t) => {
    const opened = await openBucket(t);
    for (const [reason, { settings, advice }] of Object.entries(refused)) {
      const { code, of, with: having, printed } = await diagnose({ ...opened.settings, ...settings });
      assert.deepEqual([code, having('failed')], [1, ['store-open']], reason);
      assert.equal(of('store-open').advice, advice);
      assert.doesNotMatch(printed, /hunter2/);
    }
    await isEmpty(opened.bucket);
  });

  it('deletes its objects when it is interrupted', async (t) => {
    const held = Promise.withResolvers<undefined>();
    const { bucket, proxy, settings } = await openProxied(t, ({ operation }) =>
      operation === 'UploadPart' ? held.promise : undefined,
    );
    atEnd(t, () => held.resolve(undefined));
    const child = spawn(process.execPath, [SCRIPT, 'doctor'], {
      cwd: await temporaryFolder(t),
      env: { PATH: process.env['PATH'], WORKERS: '1', ...settings },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    atEnd(t, () => child.kill('SIGKILL'));
    const printed = text(child.stdout);
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    await until('a part is being sent', () => proxy.count('UploadPart') > 0);
    assert.notDeepEqual(await bucket.keys(), []);
    child.kill('SIGINT');
    assert.equal(await ended, 130);
    assert.match(await printed, /\nnot tried {2}store-large {10}Interrupted\.\n/);
    assert.match(await printed, /\nok {9}probe-removed /);
    await isEmpty(bucket);
  });
});
