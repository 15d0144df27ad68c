import type { IncomingHttpHeaders } from 'node:http';
import { listObjects } from './synthetic-list.ts';
import { etagOf, type Objects, type StoredObject } from './synthetic-objects.ts';
import { escapeXml, unescapeXml, xml } from './synthetic-xml.ts';

/** A received request with its parsed path. */
export interface SyntheticRequest {
  readonly method: string;
  readonly url: URL;
  readonly bucket: string;
  /** Decoded; empty for the bucket itself. */
  readonly key: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface SyntheticResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | number>>;
  readonly body?: string | Buffer;
}

type Operation = keyof typeof OPERATIONS;

/** Returns the operation of a supported request; undefined for any other. */
export function operationOf({ method, url, key, headers }: SyntheticRequest): Operation | undefined {
  const has = (name: string) => url.searchParams.has(name);
  if (has('uploads') || has('uploadId')) return undefined;
  if (key === '') {
    if (method === 'GET' && url.searchParams.get('list-type') === '2') return 'ListObjectsV2';
    if (method === 'HEAD') return 'HeadBucket';
    return method === 'POST' && has('delete') ? 'DeleteObjects' : undefined;
  }
  if (method === 'PUT') return headers['x-amz-copy-source'] === undefined ? 'PutObject' : 'CopyObject';
  return ({ GET: 'GetObject', HEAD: 'HeadObject', DELETE: 'DeleteObject' } as const)[method];
}

/** Returns the number of requests that it counts as, by first folder: a removal of many objects counts as many. */
export function weightOf(operation: Operation, { url, key, body }: SyntheticRequest) {
  const isRead = ['ListObjectsV2', 'HeadBucket', 'GetObject', 'HeadObject'].includes(operation);
  const keys = operation === 'DeleteObjects' ? keysIn(body) : [];
  const first = keys[0] ?? (key === '' ? (url.searchParams.get('prefix') ?? '') : key);
  return {
    kind: isRead ? ('reads' as const) : ('writes' as const),
    prefix: first.slice(0, first.indexOf('/') + 1),
    count: Math.max(1, keys.length),
  };
}

/** Executes a request. */
export function responseTo(operation: Operation, requested: SyntheticRequest, objects: Objects): SyntheticResponse {
  return OPERATIONS[operation](requested, objects);
}

export function failure(status: number, code: string): SyntheticResponse {
  const body = xml(`<Error><Code>${code}</Code><Message>${code}</Message></Error>`);
  return { status, headers: { 'content-type': 'application/xml' }, body };
}

const OPERATIONS = {
  HeadBucket: () => ({ status: 200 }),
  ListObjectsV2: ({ url, bucket }, objects) => listObjects(url.searchParams, bucket, objects),
  GetObject: readObject,
  HeadObject: (requested, objects) => ({ ...readObject(requested, objects), body: '' }),

  PutObject({ key, headers, body }, objects) {
    if (isAgainst(headers, objects.get(key))) return failure(412, 'PreconditionFailed');
    const object = { content: body, modified: now(), type: headers['content-type'] ?? 'binary/octet-stream' };
    objects.put(key, object);
    return { status: 200, headers: { etag: etagOf(object) } };
  },

  CopyObject({ bucket, key, headers }, objects) {
    const source = decodeURIComponent(String(headers['x-amz-copy-source'])).replace(/^\//, '');
    const from = source.slice(bucket.length + 1);
    const object = objects.get(from);
    if (!object) return failure(404, 'NoSuchKey');
    if (from === key && headers['x-amz-metadata-directive'] !== 'REPLACE') return failure(400, 'InvalidRequest');
    const wanted = headers['x-amz-copy-source-if-match'];
    if (wanted !== undefined && wanted !== etagOf(object)) return failure(412, 'PreconditionFailed');
    if (isAgainst(headers, objects.get(key))) return failure(412, 'PreconditionFailed');
    const copy = { ...object, modified: now() };
    objects.put(key, copy);
    const result = `<ETag>${escapeXml(etagOf(copy))}</ETag><LastModified>${copy.modified.toISOString()}</LastModified>`;
    return { status: 200, headers: XML, body: xml(`<CopyObjectResult>${result}</CopyObjectResult>`) };
  },

  DeleteObject({ key, headers }, objects) {
    const object = objects.get(key);
    const { 'if-match': wanted } = headers;
    if (object && wanted !== undefined && wanted !== '*' && wanted !== etagOf(object)) {
      return failure(412, 'PreconditionFailed');
    }
    objects.delete(key);
    return { status: 204 };
  },

  DeleteObjects({ body }, objects) {
    const results = entriesIn(body).map(({ key, etag }) => {
      const object = objects.get(key);
      const name = `<Key>${escapeXml(key)}</Key>`;
      if (object && etag !== undefined && etag !== etagOf(object)) {
        return `<Error>${name}<Code>PreconditionFailed</Code></Error>`;
      }
      objects.delete(key);
      return `<Deleted>${name}</Deleted>`;
    });
    return { status: 200, headers: XML, body: xml(`<DeleteResult>${results.join('')}</DeleteResult>`) };
  },
} satisfies Record<string, (requested: SyntheticRequest, objects: Objects) => SyntheticResponse>;

const XML = { 'content-type': 'application/xml' };

function readObject({ key, headers }: SyntheticRequest, objects: Objects): SyntheticResponse {
  const object = objects.get(key);
  if (!object) return failure(404, 'NoSuchKey');
  const etag = etagOf(object);
  const described = { etag, 'last-modified': object.modified.toUTCString(), 'accept-ranges': 'bytes' };
  if (headers['if-none-match'] === etag) return { status: 304, headers: described };
  if (isAgainst({ 'if-match': headers['if-match'] }, object)) return failure(412, 'PreconditionFailed');
  const content = Buffer.from(object.content);
  const given = { ...described, 'content-type': object.type };
  const [, from, to] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? [];
  if (from === undefined || to === undefined || from + to === '') {
    return { status: 200, headers: { ...given, 'content-length': content.length }, body: content };
  }
  const first = from === '' ? Math.max(0, content.length - Number(to)) : Number(from);
  const last = from === '' || to === '' ? content.length - 1 : Math.min(Number(to), content.length - 1);
  if (first > last) return failure(416, 'InvalidRange');
  const range = { 'content-range': `bytes ${first}-${last}/${content.length}`, 'content-length': last - first + 1 };
  return { status: 206, headers: { ...given, ...range }, body: content.subarray(first, last + 1) };
}

/** Whether the existing object fails the preconditions of the request (RFC 9110, section 13.1). */
function isAgainst(headers: IncomingHttpHeaders, present: StoredObject | undefined): boolean {
  const etag = present && etagOf(present);
  const { 'if-match': wanted, 'if-none-match': unwanted } = headers;
  if (wanted !== undefined && (etag === undefined || (wanted !== '*' && wanted !== etag))) return true;
  return unwanted !== undefined && etag !== undefined && (unwanted === '*' || unwanted === etag);
}

/** Rounds to whole seconds, the precision of headers. */
const now = () => new Date(Math.floor(Date.now() / 1000) * 1000);

function keysIn(body: Buffer): string[] {
  return entriesIn(body).map(({ key }) => key);
}

function entriesIn(body: Buffer): { key: string; etag: string | undefined }[] {
  return Array.from(body.toString().matchAll(/<Object>(.*?)<\/Object>/gs), ([, entry = '']) => {
    const etag = /<ETag>(.*?)<\/ETag>/.exec(entry)?.[1];
    return {
      key: unescapeXml(/<Key>(.*?)<\/Key>/s.exec(entry)?.[1] ?? ''),
      etag: etag === undefined ? undefined : `"${unescapeXml(etag).replaceAll('"', '')}"`,
    };
  });
}
