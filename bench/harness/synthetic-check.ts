import {
  CopyObjectCommand,
  CreateBucketCommand,
  DeleteObjectCommand,
  DeleteObjectsCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
  S3ServiceException,
} from '@aws-sdk/client-s3';
import type { ObjectStore as Account } from '../../testing/servers/object-store.ts';

/**
 * Sends the same requests to a synthetic and a real store with the same objects. Returns the differences between their
 * responses; none if the synthetic store is a valid replacement.
 */
export async function compareStores(
  synthetic: { account: Account; bucket: string },
  real: { account: Account; bucket: string },
): Promise<string[]> {
  await connect(real.account).send(new CreateBucketCommand({ Bucket: real.bucket }));
  const left = await requestAll(connect(synthetic.account), synthetic.bucket);
  const right = await requestAll(connect(real.account), real.bucket);
  return Object.keys(left).flatMap((name) => {
    const [ours, theirs] = [JSON.stringify(left[name]), JSON.stringify(right[name])];
    return ours === theirs ? [] : [`${name}: ${ours} instead of ${theirs}`];
  });
}

function connect({ endpoint, region, accessKeyId, secretAccessKey }: Account): S3Client {
  return new S3Client({
    endpoint,
    region,
    credentials: { accessKeyId, secretAccessKey },
    forcePathStyle: true,
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
  });
}

const KEYS = ['a/1', 'a/2', 'a/b/3', 'a/b/4', 'a/c d+e/5', 'a/ü/6', 'a0', 'a/😀', 'b/7'];

/** Responses by name: the result, or status and code. */
async function requestAll(client: S3Client, Bucket: string): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {};
  const request = async (name: string, response: () => Promise<unknown>) => {
    said[name] = await response().catch((error: unknown) => {
      if (!(error instanceof S3ServiceException)) throw error;
      return `${error.$metadata.httpStatusCode}`;
    });
  };
  const list = (input: object) => async () => {
    const {
      Contents = [],
      CommonPrefixes = [],
      IsTruncated,
      KeyCount,
    } = await client.send(new ListObjectsV2Command({ Bucket, EncodingType: 'url', ...input }));
    const found = Contents.map(({ Key, Size, ETag }) => `${decode(Key)} ${Size} ${ETag}`);
    return { found, prefixes: CommonPrefixes.map(({ Prefix }) => decode(Prefix)), IsTruncated, KeyCount };
  };
  const pages = (input: object) => async () => {
    const found: unknown[] = [];
    let token: string | undefined;
    do {
      const page = await client.send(
        new ListObjectsV2Command({ Bucket, EncodingType: 'url', ...input, ContinuationToken: token }),
      );
      found.push([
        page.Contents?.map(({ Key }) => decode(Key)),
        page.CommonPrefixes?.map(({ Prefix }) => decode(Prefix)),
      ]);
      token = page.NextContinuationToken;
    } while (token);
    return found;
  };
  const get = (input: object) => async () => {
    const { Body, ETag, ContentRange, ContentLength, ContentType } = await client.send(
      new GetObjectCommand({ Bucket, Key: 'a/1', ...input }),
    );
    return [await Body?.transformToString(), ETag, ContentRange, ContentLength, ContentType];
  };

  for (const Key of KEYS) {
    await request(`put ${Key}`, async () => {
      const put = new PutObjectCommand({ Bucket, Key, Body: `in ${Key}`, ContentType: 'text/plain' });
      return (await client.send(put)).ETag;
    });
  }
  await request('list all', list({}));
  await request('list a prefix', list({ Prefix: 'a/' }));
  await request('list a folder', list({ Prefix: 'a/', Delimiter: '/' }));
  await request('list the root', list({ Delimiter: '/' }));
  await request('list nothing', list({ Prefix: 'none/', Delimiter: '/' }));
  await request('list behind a key', list({ Prefix: 'a/', StartAfter: 'a/b/3' }));
  await request('list behind a prefix', list({ Prefix: 'a/', Delimiter: '/', StartAfter: 'a/b/\u{10ffff}' }));
  await request('list two at a time', pages({ Prefix: 'a/', MaxKeys: 2 }));
  await request('list a folder two at a time', pages({ Prefix: 'a/', Delimiter: '/', MaxKeys: 2 }));
  await request('get', get({}));
  await request('get a range', get({ Range: 'bytes=1-2' }));
  await request('get the end', get({ Range: 'bytes=-2' }));
  await request('get behind the end', get({ Range: 'bytes=100-' }));
  await request('get a missing object', get({ Key: 'none' }));
  await request('get with another etag', get({ IfMatch: '"0"' }));
  await request('put where something is', () =>
    client.send(new PutObjectCommand({ Bucket, Key: 'a/1', Body: 'x', IfNoneMatch: '*' })),
  );
  await request('copy', async () => {
    const copied = await client.send(new CopyObjectCommand({ Bucket, Key: 'c/1', CopySource: `${Bucket}/a/1` }));
    // Ceph omits the quotes.
    return copied.CopyObjectResult?.ETag?.replaceAll('"', '');
  });
  await request('copy a missing object', () =>
    client.send(new CopyObjectCommand({ Bucket, Key: 'c/2', CopySource: `${Bucket}/none` })),
  );
  await request('copy onto itself', () =>
    client.send(new CopyObjectCommand({ Bucket, Key: 'a/1', CopySource: `${Bucket}/a/1` })),
  );
  await request('head of the copy', async () => {
    const { ETag, ContentLength, ContentType } = await client.send(new HeadObjectCommand({ Bucket, Key: 'c/1' }));
    return [ETag, ContentLength, ContentType];
  });
  await request('delete', async () => {
    return (await client.send(new DeleteObjectCommand({ Bucket, Key: 'c/1' }))).$metadata.httpStatusCode;
  });
  await request('delete a missing object', async () => {
    return (await client.send(new DeleteObjectCommand({ Bucket, Key: 'none' }))).$metadata.httpStatusCode;
  });
  await request('delete many', async () => {
    const Objects = ['a/1', 'a/ü/6', 'none'].map((Key) => ({ Key }));
    const { Deleted = [] } = await client.send(new DeleteObjectsCommand({ Bucket, Delete: { Objects } }));
    return Deleted.map(({ Key = '' }) => Key).toSorted((left, right) => left.localeCompare(right));
  });
  await request('list the remaining objects', list({ Prefix: 'a/' }));
  client.destroy();
  return said;
}

const decode = (key = '') => decodeURIComponent(key.replaceAll('+', ' '));
