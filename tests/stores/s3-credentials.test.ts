import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { isStoreError, rootCauseOf } from '../../src/model/error.ts';
import type { Store } from '../../src/model/store.ts';
import { awsProviderChain, CredentialCache, type Credentials } from '../../src/stores/s3/credentials.ts';
import { openS3 } from '../../src/stores/s3/s3.ts';
import { temporaryFolder } from '../../testing/holdall.ts';
import { errorResponse, type S3Proxy, startS3Proxy } from '../../testing/servers/s3-proxy.ts';
import { file, folder } from '../contract/bytes.ts';

const MINUTE = 60_000;

describe('The AWS credential chain', () => {
  it('uses the environment variables', async (t) => {
    setEnvironment(t, { AWS_ACCESS_KEY_ID: 'ENV', AWS_SECRET_ACCESS_KEY: 'secret', AWS_SESSION_TOKEN: 'token' });
    assert.deepEqual(await provided(), ['ENV', 'secret', 'token']);
  });

  it('uses the profile of a shared credentials file', async (t) => {
    const path = join(await temporaryFolder(t), 'credentials');
    await writeFile(
      path,
      '[default]\naws_access_key_id=A\n[files]\naws_access_key_id=B\naws_secret_access_key=secret\n',
    );
    setEnvironment(t, { AWS_SHARED_CREDENTIALS_FILE: path, AWS_PROFILE: 'files' });
    assert.deepEqual(await provided(), ['B', 'secret', undefined]);
  });

  it('exchanges the web identity token of a Kubernetes service account (IRSA)', async (t) => {
    const token = join(await temporaryFolder(t), 'token');
    await writeFile(token, 'the-identity-token');
    const requests: URLSearchParams[] = [];
    const url = await serve(t, (request, response) => {
      let body = '';
      request.on('data', (chunk) => (body += chunk));
      request.on('end', () => {
        requests.push(new URLSearchParams(body));
        response.setHeader('content-type', 'text/xml');
        response.end(
          `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>token</SessionToken><Expiration>${inOneHour().toISOString()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
        );
      });
    });
    setEnvironment(t, {
      AWS_WEB_IDENTITY_TOKEN_FILE: token,
      AWS_ROLE_ARN: 'arn:aws:iam::123456789012:role/files',
      AWS_ENDPOINT_URL_STS: url,
    });
    assert.deepEqual(await provided(), ['ROLE', 'secret', 'token']);
    assert.equal(requests[0]?.get('WebIdentityToken'), 'the-identity-token');
    assert.equal(requests[0]?.get('RoleArn'), 'arn:aws:iam::123456789012:role/files');
  });

  it('uses the role of a container (ECS, EKS Pod Identity)', async (t) => {
    const { url } = await serveContainerRole(t, () => ({ accessKeyId: 'TASK', expiration: inOneHour() }));
    setEnvironment(t, { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'authorized' });
    assert.deepEqual(await provided(), ['TASK', 'secret', 'token']);
  });

  it('uses the role of an EC2 instance', async (t) => {
    const url = await serve(t, (request, response) => {
      if (request.method === 'PUT') return response.end('metadata-token');
      if (request.headers['x-aws-ec2-metadata-token'] !== 'metadata-token') return response.writeHead(401).end();
      if (request.url?.endsWith('/security-credentials/')) return response.end('instance-role');
      return response.end(roleDocument({ accessKeyId: 'INSTANCE', expiration: inOneHour() }));
    });
    setEnvironment(t, { AWS_EC2_METADATA_SERVICE_ENDPOINT: url, AWS_EC2_METADATA_DISABLED: undefined });
    assert.deepEqual(await provided(), ['INSTANCE', 'secret', 'token']);
  });

  it('is reported when it has no credentials', async (t) => {
    setEnvironment(t, {});
    const { store, proxy } = await openStore(t);
    await assert.rejects(store.stat(file('a')), (error) => {
      assert.ok(isStoreError(error, 'unavailable'));
      assert.match(error.message, /^No AWS credentials were found\. Set S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY/);
      return true;
    });
    assert.deepEqual(proxy.requests, []);
  });
});

describe('A failing credential provider', () => {
  it('is the cause of the error, but not part of its message, which clients receive', async () => {
    const failure = new Error('Command failed: /opt/helper --vault internal');
    const cache = new CredentialCache(
      async () => Promise.reject(failure),
      () => {},
    );
    await assert.rejects(
      async () => cache.get(),
      (error) => {
        assert.ok(isStoreError(error, 'unavailable'));
        assert.doesNotMatch(error.message, /helper/);
        assert.equal(rootCauseOf(error), failure.message);
        return true;
      },
    );
  });
});

describe('Temporary credentials', () => {
  it('sign requests and presigned URLs with their session token', async (t) => {
    setEnvironment(t, { AWS_ACCESS_KEY_ID: 'ENV', AWS_SECRET_ACCESS_KEY: 'secret', AWS_SESSION_TOKEN: 'a/token==' });
    const { store, proxy } = await openStore(t);
    await store.list(folder(''));
    const { headers } = proxy.requests[0] ?? {};
    assert.equal(headers?.['x-amz-security-token'], 'a/token==');
    assert.match(String(headers?.authorization), /Credential=ENV\/.*SignedHeaders=[^,]*x-amz-security-token/);
    assert.equal((await presigned(store, 60)).get('X-Amz-Security-Token'), 'a/token==');
  });

  it('limit the validity of presigned URLs', async (t) => {
    const expiration = new Date(Date.now() + 10 * MINUTE);
    const { url } = await serveContainerRole(t, () => ({ accessKeyId: 'TASK', expiration }));
    setEnvironment(t, { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'authorized' });
    const { store } = await openStore(t);
    const seconds = Number((await presigned(store, 3600)).get('X-Amz-Expires'));
    assert.ok(seconds > 540 && seconds <= 600, `${seconds} seconds`);
    assert.equal((await presigned(store, 60)).get('X-Amz-Expires'), '60');
  });

  it('are replaced when the store rejects them as expired', async (t) => {
    let count = 0;
    const { url } = await serveContainerRole(t, () => ({ accessKeyId: `TASK${++count}`, expiration: inOneHour() }));
    setEnvironment(t, { AWS_CONTAINER_CREDENTIALS_FULL_URI: url, AWS_CONTAINER_AUTHORIZATION_TOKEN: 'authorized' });
    const { store, proxy } = await openStore(t);
    proxy.intercept(({ headers }) =>
      headers.authorization?.includes('Credential=TASK1/') ? errorResponse(400, 'ExpiredToken') : LISTING,
    );
    await store.list(folder(''));
    assert.equal(count, 2);
    proxy.intercept(() => errorResponse(400, 'ExpiredToken'));
    await assert.rejects(store.list(folder('')), { kind: 'unavailable' });
    assert.equal(count, 3);
  });

  it('are requested once by concurrent requests', async () => {
    let count = 0;
    const cache = new CredentialCache(
      async () => ({ accessKeyId: `${++count}`, secretAccessKey: 'secret' }),
      () => {},
    );
    const found = await Promise.all([cache.get(), cache.get(), cache.get()]);
    assert.deepEqual(
      found.map(({ accessKeyId }) => accessKeyId),
      ['1', '1', '1'],
    );
  });

  it('are refreshed before they expire, and used until then when that fails', async (t) => {
    t.mock.timers.enable({ apis: ['Date'], now: 0 });
    const warnings: string[] = [];
    let count = 0;
    let isFailing = false;
    const provide = async (): Promise<Credentials> => {
      if (isFailing) throw new Error('The provider is unreachable.');
      return { ...role(`${++count}`), expiration: new Date(Date.now() + 60 * MINUTE) };
    };
    const cache = new CredentialCache(provide, (message) => void warnings.push(message));
    const accessKeyId = async () => (await cache.get()).accessKeyId;
    const settled = () => new Promise((resolve) => setImmediate(resolve));
    assert.equal(await accessKeyId(), '1');
    t.mock.timers.setTime(54 * MINUTE);
    assert.equal(await accessKeyId(), '1');
    isFailing = true;
    t.mock.timers.setTime(56 * MINUTE);
    assert.equal(await accessKeyId(), '1');
    await settled();
    assert.equal(warnings.length, 1);
    isFailing = false;
    t.mock.timers.setTime(57 * MINUTE);
    assert.equal(await accessKeyId(), '1', 'The refresh is in the background.');
    await settled();
    assert.equal(await accessKeyId(), '2');
    isFailing = true;
    t.mock.timers.setTime(57 * MINUTE + 61 * MINUTE);
    await assert.rejects(accessKeyId(), { kind: 'unavailable' });
  });
});

const role = (accessKeyId: string) => ({ accessKeyId, secretAccessKey: 'secret', sessionToken: 'token' });

const inOneHour = () => new Date(Date.now() + 60 * MINUTE);

/** Returns the parts of the credentials that the chain provides. */
async function provided(): Promise<readonly (string | undefined)[]> {
  const { accessKeyId, secretAccessKey, sessionToken } = await awsProviderChain('us-east-1')();
  return [accessKeyId, secretAccessKey, sessionToken];
}

/** Sets the variables of the AWS SDKs until the end of the test, and no others, so that no real account is used. */
function setEnvironment(t: TestContext, variables: Readonly<Record<string, string | undefined>>): void {
  const before = { ...process.env };
  t.after(() => {
    process.env = before;
  });
  const others = Object.entries(before).filter(([name]) => !name.startsWith('AWS_'));
  const nowhere = { AWS_SHARED_CREDENTIALS_FILE: '/nonexistent', AWS_CONFIG_FILE: '/nonexistent' };
  const defined = Object.entries({ ...nowhere, AWS_EC2_METADATA_DISABLED: 'true', ...variables });
  process.env = Object.fromEntries([...others, ...defined].filter(([, value]) => value !== undefined));
}

/** The response to ListObjectsV2 of an empty bucket. */
const LISTING = {
  status: 200,
  body: '<ListBucketResult><Name>bucket</Name><IsTruncated>false</IsTruncated></ListBucketResult>',
};

/** Opens a store without an access key, whose bucket is empty. */
async function openStore(t: TestContext): Promise<{ store: Store; proxy: S3Proxy }> {
  const proxy = await startS3Proxy({ endpoint: 'http://127.0.0.1:1' });
  proxy.intercept(() => LISTING);
  const store = openS3({
    bucket: 'bucket',
    endpoint: proxy.url,
    region: 'us-east-1',
    credentials: undefined,
    addressing: 'path',
    publicUrl: undefined,
    concurrency: 4,
    warn: () => {},
  });
  t.after(async () => {
    await store.close?.();
    await proxy.stop();
  });
  return { store, proxy };
}

async function presigned(store: Store, expires: number): Promise<URLSearchParams> {
  const entry = { kind: 'file', path: file('a'), size: 1, etag: 'e', modified: null, type: 'text/plain' } as const;
  const url = await store.presign?.(entry, { expires, download: true, purpose: 'read' });
  return new URL(url ?? '').searchParams;
}

interface Role {
  readonly accessKeyId: string;
  readonly expiration: Date;
}

const roleDocument = ({ accessKeyId, expiration }: Role) =>
  JSON.stringify({
    Code: 'Success',
    AccessKeyId: accessKeyId,
    SecretAccessKey: 'secret',
    Token: 'token',
    Expiration: expiration.toISOString(),
  });

/** Serves the credentials of a container. */
async function serveContainerRole(t: TestContext, create: () => Role): Promise<{ url: string }> {
  const url = await serve(t, (request, response) => {
    if (request.headers.authorization !== 'authorized') return response.writeHead(401).end();
    return response.end(roleDocument(create()));
  });
  return { url: `${url}/credentials` };
}

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
