import { CopyObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import type { Store } from '../../src/model/store.ts';
import { postForm, postJson, send } from '../../tests/http/client.ts';
import { BLUE, plain } from '../../tests/thumbnails/images.ts';
import type { TestBucket } from './bucket.ts';

/** The cost of one request to the service, in requests to the store by the classes of price lists. */
export interface Cost {
  /** Requests that write or list. */
  readonly a: number;
  /** Requests that read, including metadata. */
  readonly b: number;
}

/** A case: the initial state and the measured request, which resolves with the status of the response. */
export interface CostCase {
  /** The name in the documentation. */
  readonly name: string;
  readonly plant?: (bucket: TestBucket, port: number, store: Store) => Promise<unknown>;
  readonly request: (port: number) => Promise<{ readonly status: number }>;
}

/** Amazon S3 and Cloudflare R2 charge for the same requests. Deletes and aborts are free. */
export function costOf(requests: readonly { readonly operation: string }[]): Cost {
  const classes = requests.map(({ operation }) => CLASSES[operation]);
  if (classes.includes(undefined)) throw new Error(`One of these has no price: ${JSON.stringify(requests)}`);
  const count = (wanted: string) => classes.filter((found) => found === wanted).length;
  return { a: count('a'), b: count('b') };
}

const CLASSES: Readonly<Record<string, 'a' | 'b' | 'free'>> = {
  PutObject: 'a',
  CopyObject: 'a',
  CreateMultipartUpload: 'a',
  UploadPart: 'a',
  UploadPartCopy: 'a',
  CompleteMultipartUpload: 'a',
  ListObjectsV2: 'a',
  ListObjectVersions: 'a',
  GetObject: 'b',
  HeadObject: 'b',
  HeadBucket: 'b',
  GetBucketVersioning: 'b',
  ListParts: 'a',
  DeleteObject: 'free',
  DeleteObjects: 'free',
  AbortMultipartUpload: 'free',
};

const MIB = 2 ** 20;

/** Puts objects without the service, so that it has cached nothing of them. */
async function put({ client, name }: TestBucket, Body: Buffer, ...keys: readonly string[]): Promise<void> {
  for (const Key of keys)
    await client.send(new PutObjectCommand({ Bucket: name, Key, Body, ContentLength: Body.length }));
}

const small = (bucket: TestBucket) => put(bucket, Buffer.from('text'), 'f/a');
const large = (bucket: TestBucket) => put(bucket, Buffer.alloc(10 * MIB), 'f/a');
const tenIn = (bucket: TestBucket) =>
  put(bucket, Buffer.from('text'), ...Array.from({ length: 10 }, (_, index) => `f/${index}`));
const image = async (bucket: TestBucket) => put(bucket, await plain(BLUE).png().toBuffer(), 'f/a');

const upload = (port: number, size: number) =>
  postForm(port, [
    { name: 'prefix', value: 'f' },
    { name: 'file', filename: 'a', value: Buffer.alloc(size) },
  ]);

const transfer = (port: number, what: 'copy' | 'move', options: object = {}) =>
  postJson(port, `/${what}`, { source: 'f/a', destination: 'g/a', is_folder: false, ...options });

const transferFolder = (port: number, what: 'copy' | 'move') =>
  transfer(port, what, { source: 'f', destination: 'g', is_folder: true });

export const COST_CASES: readonly CostCase[] = [
  { name: 'upload, below 8 MiB', request: (port) => upload(port, 4 * MIB) },
  { name: 'upload, 20 MiB', request: (port) => upload(port, 20 * MIB) },
  { name: 'begin an upload in parts', request: beginUpload },
  {
    name: 'first part of an upload, 64 MiB',
    plant: async (_bucket, port) => void (uploadUrl = await urlOfUpload(port)),
    request: (port) => sendPart(port, 0, 64 * MIB),
  },
  {
    name: 'last part of an upload, 1 MiB',
    plant: async (_bucket, port) => {
      uploadUrl = await urlOfUpload(port);
      await sendPart(port, 0, 64 * MIB);
    },
    request: (port) => sendPart(port, 64 * MIB, MIB),
  },
  {
    name: 'offset of an upload',
    plant: async (_bucket, port) => {
      uploadUrl = await urlOfUpload(port);
      await sendPart(port, 0, 64 * MIB);
    },
    request: (port) => send(port, uploadUrl, { method: 'HEAD', headers: TUS }),
  },
  {
    name: 'URLs of parts for the bucket, the first time',
    plant: async (_bucket, port) => {
      // The process then knows that Ceph rejects quotes in `If-Match`, which costs two requests once.
      uploadUrl = await urlOfUpload(port);
      await presignParts(port);
      uploadUrl = await urlOfUpload(port);
    },
    request: presignParts,
  },
  {
    name: 'URLs of parts for the bucket, later',
    plant: async (_bucket, port) => {
      uploadUrl = await urlOfUpload(port);
      await presignParts(port);
    },
    request: presignParts,
  },
  { name: 'list one page', plant: tenIn, request: (port) => send(port, '/f/') },
  { name: 'fetch, small', plant: small, request: (port) => send(port, '/file/f/a') },
  {
    name: 'fetch, empty',
    plant: (bucket) => put(bucket, Buffer.alloc(0), 'f/a'),
    request: (port) => send(port, '/file/f/a'),
  },
  { name: 'fetch, large, not seen in the last five seconds', plant: large, request: (port) => send(port, '/file/f/a') },
  {
    name: 'fetch, large, seen in the last five seconds',
    plant: async (bucket, port) => {
      await large(bucket);
      await send(port, '/f/');
    },
    request: (port) => send(port, '/file/f/a'),
  },
  { name: 'HEAD', plant: small, request: (port) => send(port, '/file/f/a', { method: 'HEAD' }) },
  { name: 'thumbnail, the first time', plant: image, request: (port) => send(port, '/thumb/f/a') },
  {
    name: 'thumbnail, cached',
    plant: async (bucket, port) => {
      await image(bucket);
      await send(port, '/thumb/f/a');
    },
    request: (port) => send(port, '/thumb/f/a'),
  },
  { name: 'delete a file', plant: small, request: (port) => send(port, '/delete/f/a', { method: 'DELETE' }) },
  { name: 'rename a small file', plant: small, request: (port) => postJson(port, '/rename/f/a', { newName: 'b' }) },
  { name: 'copy a small file', plant: small, request: (port) => transfer(port, 'copy') },
  { name: 'copy a large file, 10 MiB', plant: large, request: (port) => transfer(port, 'copy') },
  {
    name: 'copy over a file, with `overwrite`',
    plant: async (bucket) => {
      await large(bucket);
      await copyToOtherKey(bucket);
    },
    request: (port) => transfer(port, 'copy', { overwrite: true }),
  },
  { name: 'move a small file', plant: small, request: (port) => transfer(port, 'move') },
  { name: 'create a folder', request: (port) => postJson(port, '/create_folder', { path: 'a' }) },
  { name: 'create a folder three deep', request: (port) => postJson(port, '/create_folder', { path: 'a/b/c' }) },
  {
    name: 'delete a folder of 10 objects',
    plant: tenIn,
    request: (port) => send(port, '/delete_folder/f', { method: 'DELETE' }),
  },
  { name: 'copy a folder of 10 objects', plant: tenIn, request: (port) => transferFolder(port, 'copy') },
  { name: 'move or rename a folder of 10 objects', plant: tenIn, request: (port) => transferFolder(port, 'move') },
  {
    name: '`/-/health/ready`',
    // The first check, at the start, is a listing.
    plant: async (_bucket, _port, store) => store.check?.(),
    request: (port) => send(port, '/-/health/ready'),
  },
];

const TUS = { 'tus-resumable': '1.0.0' };

/** The URL of the current case's upload. */
let uploadUrl = '';

function beginUpload(port: number) {
  const metadata = `path ${Buffer.from('f/a').toString('base64')}`;
  const headers = { ...TUS, 'upload-length': String(65 * MIB), 'upload-metadata': metadata };
  return send(port, '/-/uploads', { method: 'POST', headers });
}

async function urlOfUpload(port: number): Promise<string> {
  return String((await beginUpload(port)).headers.location);
}

function presignParts(port: number) {
  const parts = [1, 2, 3, 4].map((number) => ({ number, md5: 'AAAAAAAAAAAAAAAAAAAAAA==' }));
  return postJson(port, `${uploadUrl}/parts`, { parts });
}

function sendPart(port: number, offset: number, size: number) {
  const headers = { ...TUS, 'content-type': 'application/offset+octet-stream', 'upload-offset': String(offset) };
  return send(port, uploadUrl, { method: 'PATCH', headers, body: Buffer.alloc(size) });
}

async function copyToOtherKey({ client, name }: TestBucket): Promise<void> {
  await client.send(new CopyObjectCommand({ Bucket: name, Key: 'g/a', CopySource: `${name}/f/a` }));
}
