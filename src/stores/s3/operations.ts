import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import type { Cancellable, PresignedPart } from '../../model/store.ts';
import { concurrentlyModified } from '../../model/store-errors.ts';
import type { Bucket } from './bucket.ts';
import type { ConditionHeaders } from './capabilities.ts';
import { LONG_TIMEOUT_MS } from './client.ts';
import { errorInBody, notAnObjectStore } from './errors.ts';
import { encodeKey, fromFullKey, type Key, quote, toFullKey, unquote } from './keys.ts';
import { metadataOf, type ObjectMetadata } from './object-metadata.ts';
import type { Query } from './signature.ts';
import { decodeHeader, type HttpResponse } from './transport.ts';
import { escapeXml, NotXmlError, readFields, readXml } from './xml.ts';

/* The requests to a bucket, by their names in the Amazon S3 API Reference. */

/** The properties of an object in response headers. */
export interface ObjectHead extends ObjectMetadata {
  /** Without quotes. */
  readonly etag: string;
  /** The length of the body: the size of the object, or of the part in a response with status 206. */
  readonly size: number;
  /** The time of the last write. */
  readonly modified: Date | undefined;
  readonly contentType: string | undefined;
  readonly headers: IncomingHttpHeaders;
}

/** The headers of an object that copies keep, such as its media type and metadata. Values are Unicode text. */
export type Attributes = Readonly<Record<string, string | undefined>>;

const ATTRIBUTE_HEADER = /^(cache-control|content-(disposition|encoding|language|type)|expires|x-amz-meta-.*)$/;

/** Returns the attributes of an object. */
export function attributesOf({ headers }: Pick<ObjectHead, 'headers'>): Attributes {
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (ATTRIBUTE_HEADER.test(name) && value !== undefined) attributes[name] = decodeHeader(String(value));
  }
  return attributes;
}

/** HeadBucket. */
export const headBucket = (bucket: Bucket, { signal }: Cancellable): Promise<void> =>
  bucket.client.send({ method: 'HEAD', signal, parse: () => {} });

/** Returns the time of a response of the store. */
export const headTime = (bucket: Bucket, { signal }: Cancellable): Promise<Date> =>
  bucket.client.send({ method: 'HEAD', signal, parse: ({ headers }) => new Date(headers.date ?? Number.NaN) });

/** HeadObject. Throws `not-found`. */
export function headObject(
  bucket: Bucket,
  key: Key,
  { versionId, signal }: { readonly versionId?: string | undefined } & Cancellable,
): Promise<ObjectHead> {
  const parse = ({ headers }: HttpResponse) => readHead(bucket, headers);
  return bucket.client.send({ method: 'HEAD', key, query: { versionId }, signal, parse });
}

/** The response to GetObject. The caller reads a stream to the end, or destroys it. */
export interface ObjectResponse {
  readonly head: ObjectHead;
  readonly status: number;
  readonly body: Buffer | Readable;
}

export interface GetObjectOptions extends Cancellable {
  readonly range?: string | undefined;
  /** The ETag of the version to read, without quotes. */
  readonly ifMatch?: string | undefined;
  /** The id of the object version to read; undefined for the current one. */
  readonly versionId?: string | undefined;
  /** Maximum bytes of a body that is buffered. */
  readonly maxBytes: number;
  /** Whether a longer body is a stream instead of an error. */
  readonly isStreamed: boolean;
}

/** GetObject. */
export function getObject(bucket: Bucket, key: Key, options: GetObjectOptions): Promise<ObjectResponse> {
  const { range, ifMatch, versionId, maxBytes, isStreamed, signal } = options;
  return bucket.client.send({
    method: 'GET',
    key,
    query: { versionId },
    headers: { range, 'if-match': ifMatch === undefined ? undefined : quote(ifMatch) },
    maxBytes,
    isStreamed,
    signal,
    parse({ status, headers, body, stream }) {
      try {
        return { head: readHead(bucket, headers), status, body: stream ?? body };
      } catch (error) {
        stream?.destroy();
        throw error;
      }
    },
  });
}

/** Maximum bytes of an object that `getText` reads. */
const MAX_TEXT_BYTES = 64 * 1024;

/** GetObject of a small object with UTF-8 text. Throws `not-found`. */
export async function getText(
  bucket: Bucket,
  key: Key,
  { signal }: Cancellable,
): Promise<{ text: string; head: ObjectHead }> {
  const { head, body } = await getObject(bucket, key, { maxBytes: MAX_TEXT_BYTES, isStreamed: false, signal });
  if (!Buffer.isBuffer(body)) throw new Error('The text is a stream.');
  return { text: body.toString(), head };
}

/** PutObject. Returns the ETag. */
export function putObject(
  bucket: Bucket,
  key: Key,
  body: Buffer,
  { attributes, condition, signal }: { attributes?: Attributes; condition?: ConditionHeaders } & Cancellable,
): Promise<string> {
  const headers = { 'content-type': 'application/octet-stream', ...attributes, ...condition };
  const parse = (response: HttpResponse) => requireStored(bucket, response.headers);
  const timeoutMs = LONG_TIMEOUT_MS;
  return bucket.client.send({ method: 'PUT', key, headers, body, timeoutMs, signal, parse });
}

/** The source of a copy. */
export interface CopySource {
  readonly key: Key;
  /** The ETag of the version to copy, without quotes. */
  readonly ifMatch?: string | undefined;
  /** The id of the object version to copy; undefined for the current one. */
  readonly versionId?: string | undefined;
  /** For UploadPartCopy: the range to copy. */
  readonly range?: string;
}

/**
 * CopyObject. Keeps the attributes of the source unless `attributes` is set. Returns the ETag, or an empty string if
 * the response contains none.
 */
export function copyObject(
  bucket: Bucket,
  key: Key,
  source: CopySource,
  { attributes, condition }: { attributes?: Attributes | undefined; condition?: ConditionHeaders | undefined },
): Promise<string> {
  const directive = attributes && { 'x-amz-metadata-directive': 'REPLACE', ...attributes };
  const headers = { ...copyHeaders(bucket, source), ...directive, ...condition };
  return bucket.client.send({ method: 'PUT', key, headers, timeoutMs: LONG_TIMEOUT_MS, parse: readCopyEtag });
}

/** DeleteObject. Succeeds if the object does not exist. Deletes only the version `ifMatch`, if it is set. */
export function deleteObject(
  bucket: Bucket,
  key: Key,
  { condition, signal }: { condition: ConditionHeaders } & Cancellable,
): Promise<void> {
  const parse = (response: HttpResponse) => void readResult(response);
  return bucket.client.send({ method: 'DELETE', key, headers: { ...condition }, signal, parse });
}

/** The response to DeleteObjects. */
export interface DeleteResult {
  readonly deleted: ReadonlySet<Key>;
  /** Error codes by key. */
  readonly errors: ReadonlyMap<Key, string>;
}

/** DeleteObjects. Deletes an object with an ETag only if it still has that ETag. */
export function deleteObjects(
  bucket: Bucket,
  objects: readonly { readonly key: Key; readonly etag?: string; readonly versionId?: string }[],
  { signal }: Cancellable,
): Promise<DeleteResult> {
  const items = objects.map(({ key, etag, versionId }) => {
    const condition = etag === undefined ? '' : `<ETag>${escapeXml(quote(etag))}</ETag>`;
    const version = versionId === undefined ? '' : `<VersionId>${escapeXml(versionId)}</VersionId>`;
    return `<Object><Key>${escapeXml(toFullKey(bucket, key))}</Key>${version}${condition}</Object>`;
  });
  const body = Buffer.from(`<Delete xmlns="${XML_NAMESPACE}">${items.join('')}</Delete>`);
  // Required by Amazon S3, and supported by all stores, unlike its newer checksums.
  const headers = { ...XML_TYPE, 'content-md5': createHash('md5').update(body).digest('base64') };
  return bucket.client.send({
    method: 'POST',
    query: { delete: '' },
    headers,
    body,
    timeoutMs: LONG_TIMEOUT_MS,
    maxBytes: MAX_LIST_BYTES,
    signal,
    parse: (response) => readDeleteResult(bucket, response),
  });
}

/** A part of a multipart upload. */
export interface PartNumber {
  readonly uploadId: string;
  readonly partNumber: number;
}

/** CreateMultipartUpload. Returns the upload id. */
export function createMultipartUpload(bucket: Bucket, key: Key, attributes: Attributes): Promise<string> {
  return bucket.client.send({
    method: 'POST',
    key,
    query: { uploads: '' },
    headers: attributes,
    parse(response) {
      const uploadId = readResult(response).get('UploadId');
      if (uploadId) return uploadId;
      throw notAnObjectStore(bucket.endpoint);
    },
  });
}

/** UploadPart. Returns the ETag. */
export function uploadPart(
  bucket: Bucket,
  key: Key,
  body: Buffer,
  { uploadId, partNumber, signal }: PartNumber & Cancellable,
): Promise<string> {
  return bucket.client.send({
    method: 'PUT',
    key,
    query: { partNumber: String(partNumber), uploadId },
    body,
    timeoutMs: LONG_TIMEOUT_MS,
    signal,
    parse: ({ headers }) => requireStored(bucket, headers),
  });
}

/** Presigns an UploadPart of `size` bytes with a checksum, an MD5 in Base64. */
export async function presignPart(
  bucket: Bucket,
  key: Key,
  { uploadId, partNumber, size, md5, expires }: PartNumber & { size: number; md5: string; expires: number },
): Promise<Pick<PresignedPart, 'url' | 'headers'>> {
  const query = {
    'X-Amz-Content-Sha256': 'UNSIGNED-PAYLOAD',
    partNumber: String(partNumber),
    uploadId,
    'x-id': 'UploadPart',
  };
  // All stores verify Content-MD5. Ceph 16 ignores the newer checksums, and a payload hash in a presigned URL.
  const headers = { 'content-md5': md5 };
  const signed = { ...headers, 'content-length': String(size) };
  return { url: await bucket.client.presign({ method: 'PUT', key, query, headers: signed }, expires), headers };
}

/** UploadPartCopy. Returns the ETag, or an empty string if the response contains none. */
export function uploadPartCopy(
  bucket: Bucket,
  key: Key,
  source: CopySource,
  { uploadId, partNumber }: PartNumber,
): Promise<string> {
  const query = { partNumber: String(partNumber), uploadId };
  const headers = copyHeaders(bucket, source);
  return bucket.client.send({ method: 'PUT', key, query, headers, timeoutMs: LONG_TIMEOUT_MS, parse: readCopyEtag });
}

/** CompleteMultipartUpload. Returns the ETag, or an empty string if the response contains none (Ceph 16). */
export function completeMultipartUpload(
  bucket: Bucket,
  key: Key,
  parts: readonly { readonly partNumber: number; readonly etag: string }[],
  { uploadId, condition }: { uploadId: string; condition: ConditionHeaders },
): Promise<string> {
  const items = parts.map(
    ({ partNumber, etag }) =>
      `<Part><PartNumber>${partNumber}</PartNumber><ETag>${escapeXml(quote(etag))}</ETag></Part>`,
  );
  const xml = `<CompleteMultipartUpload xmlns="${XML_NAMESPACE}">${items.join('')}</CompleteMultipartUpload>`;
  return bucket.client.send({
    method: 'POST',
    key,
    query: { uploadId },
    headers: { ...XML_TYPE, ...condition },
    body: Buffer.from(xml),
    timeoutMs: LONG_TIMEOUT_MS,
    parse(response) {
      const result = readResult(response);
      // A 200 response that names no object is from a proxy.
      if (!['ETag', 'Key', 'Location'].some((name) => result.has(name))) throw notAnObjectStore(bucket.endpoint);
      return unquote(result.get('ETag'));
    },
  });
}

/** AbortMultipartUpload. */
export function abortMultipartUpload(bucket: Bucket, key: Key, uploadId: string): Promise<void> {
  return bucket.client.send({ method: 'DELETE', key, query: { uploadId }, parse: () => {} });
}

/** A part that a multipart upload has. */
export interface ListedPart {
  readonly partNumber: number;
  readonly size: number;
  /** Without quotes. */
  readonly etag: string;
}

/** A page of the parts of a multipart upload, by their numbers. */
export interface PartsResult {
  readonly parts: readonly ListedPart[];
  readonly isTruncated: boolean;
}

/** ListParts: the parts after a number. */
export function listParts(
  bucket: Bucket,
  key: Key,
  { uploadId, after, signal }: { uploadId: string; after: number } & Cancellable,
): Promise<PartsResult> {
  const query = { 'part-number-marker': after === 0 ? undefined : String(after), uploadId };
  return bucket.client.send({ method: 'GET', key, query, maxBytes: MAX_LIST_BYTES, signal, parse: readParts });
}

/** Parameters of ListObjectsV2. */
export interface ListQuery extends Query {
  readonly prefix?: Key | undefined;
  /** The listing begins after this key. */
  readonly 'start-after'?: Key | undefined;
}

/** A page of a listing as the store sent it: full keys, which might be percent-encoded. */
export interface ListResult {
  readonly isEncoded: boolean;
  readonly isTruncated: boolean;
  readonly token: string | undefined;
  readonly objects: readonly ListedObject[];
  readonly prefixes: readonly string[];
}

/** An object in a listing. */
export interface ListedObject {
  readonly key: Key;
  readonly size: number;
  /** Without quotes; empty if the store lists no ETags. */
  readonly etag: string;
  readonly modified: Date | undefined;
}

/** Maximum bytes of a listing page: more than 1,000 percent-encoded keys of 1,024 bytes need. */
const MAX_LIST_BYTES = 16 * 2 ** 20;

/** ListObjectsV2 with the parameters in `query`, whose keys are below the prefix of the bucket. */
export function listObjects(bucket: Bucket, query: ListQuery, { signal }: Cancellable): Promise<ListResult> {
  const { prefix = '', 'start-after': after } = query;
  const fullPrefix = toFullKey(bucket, prefix);
  return bucket.client.send({
    method: 'GET',
    query: {
      'list-type': '2',
      ...query,
      prefix: fullPrefix === '' ? query.prefix : fullPrefix,
      'start-after': after === undefined ? undefined : toFullKey(bucket, after),
    },
    maxBytes: MAX_LIST_BYTES,
    signal,
    parse: readList,
  });
}

/** GetBucketVersioning. Returns undefined if the bucket never had versions. */
export function getVersioning(bucket: Bucket, { signal }: Cancellable): Promise<'Enabled' | 'Suspended' | undefined> {
  return bucket.client.send({
    method: 'GET',
    query: { versioning: '' },
    signal,
    parse(response) {
      const status = readResult(response).get('Status')?.trim();
      return status === 'Enabled' || status === 'Suspended' ? status : undefined;
    },
  });
}

/** A version of an object, or a delete marker. */
export interface ListedVersion extends ListedObject {
  readonly versionId: string;
  readonly isLatest: boolean;
  /** Whether this is a delete marker. */
  readonly isMarker: boolean;
}

/** A page of object versions as the store sent it: full keys, which might be percent-encoded. */
export interface VersionsResult {
  readonly isEncoded: boolean;
  readonly isTruncated: boolean;
  /** By key, and then the newest first. */
  readonly versions: readonly ListedVersion[];
}

/** ListObjectVersions: the versions of keys with a prefix, after a version. */
export function listObjectVersions(
  bucket: Bucket,
  { prefix, after }: { prefix: Key; after: Pick<ListedVersion, 'key' | 'versionId'> | undefined },
  { signal }: Cancellable,
): Promise<VersionsResult> {
  const query = {
    versions: '',
    prefix: toFullKey(bucket, prefix),
    'encoding-type': 'url',
    'key-marker': after && toFullKey(bucket, after.key),
    'version-id-marker': after?.versionId,
  };
  return bucket.client.send({ method: 'GET', query, maxBytes: MAX_LIST_BYTES, signal, parse: readVersions });
}

/** Permanently deletes object versions. Returns the codes of errors by key. */
export async function deleteVersions(
  bucket: Bucket,
  versions: readonly Pick<ListedVersion, 'key' | 'versionId'>[],
  options: Cancellable,
): Promise<ReadonlyMap<Key, string>> {
  return (await deleteObjects(bucket, versions, options)).errors;
}

/** DeleteObject of one object version. */
export function deleteVersion(
  bucket: Bucket,
  { key, versionId }: Pick<ListedVersion, 'key' | 'versionId'>,
  { signal }: Cancellable,
): Promise<void> {
  const parse = (response: HttpResponse) => void readResult(response);
  return bucket.client.send({ method: 'DELETE', key, query: { versionId }, signal, parse });
}

/** GetBucketLifecycleConfiguration. Returns whether a rule removes the parts of incomplete uploads. */
export function abortsIncompleteUploads(bucket: Bucket, { signal }: Cancellable): Promise<boolean> {
  return bucket.client.send({
    method: 'GET',
    query: { lifecycle: '' },
    signal,
    parse({ body }) {
      let status = '';
      let isAborting = false;
      let isFound = false;
      readXml(body.toString(), (name, text, depth) => {
        if (depth === 2 && name === 'Status') status = text.trim();
        else if (depth === 2 && name === 'AbortIncompleteMultipartUpload') isAborting = true;
        else if (depth === 1 && name === 'Rule') {
          isFound ||= isAborting && status === 'Enabled';
          isAborting = false;
        }
      });
      return isFound;
    },
  });
}

const XML_NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';
const XML_TYPE = { 'content-type': 'application/xml' } as const;

function copyHeaders(bucket: Bucket, { key, ifMatch, versionId, range }: CopySource) {
  const version = versionId === undefined ? '' : `?versionId=${encodeURIComponent(versionId)}`;
  return {
    'x-amz-copy-source': `${encodeURIComponent(bucket.name)}/${encodeKey(toFullKey(bucket, key))}${version}`,
    'x-amz-copy-source-if-match': ifMatch === undefined ? undefined : quote(ifMatch),
    'x-amz-copy-source-range': range,
  };
}

/** Parses the headers of an object. Throws `unavailable` if the response is not one of an object store. */
function readHead(bucket: Bucket, headers: IncomingHttpHeaders): ObjectHead {
  const size = Number(headers['content-length']);
  if (Number.isNaN(size)) throw notAnObjectStore(bucket.endpoint);
  const modified = new Date(headers['last-modified'] ?? Number.NaN);
  return {
    etag: requireEtag(bucket, headers.etag),
    size,
    modified: Number.isNaN(modified.getTime()) ? undefined : modified,
    contentType: headers['content-type'],
    ...metadataOf(headers),
    headers,
  };
}

/**
 * Returns the ETag of an object that was stored. Throws `file-busy` if the store kept nothing, because a request that it
 * received later had changed the object already: OpenStack Swift then sends 200 without an ETag.
 */
function requireStored(bucket: Bucket, { etag, 'x-amz-request-id': requestId }: IncomingHttpHeaders): string {
  if (!etag && requestId !== undefined) throw concurrentlyModified();
  return requireEtag(bucket, etag);
}

/**
 * Returns the ETag of an object. Throws `unavailable` if it is missing: every store sends one, so the response is from
 * a proxy and the request had no effect.
 */
function requireEtag({ endpoint }: Bucket, etag: string | undefined): string {
  if (etag) return unquote(etag);
  throw notAnObjectStore(endpoint);
}

/**
 * Returns the elements in the root of a success response. Throws an `S3ErrorResponse` if the body is an error: during a
 * slow copy, stores send status 200 before they know the outcome. Throws `NotXmlError` if the body is a web page.
 */
function readResult(response: HttpResponse): ReadonlyMap<string, string> {
  if (response.body.length === 0) return new Map();
  const { root, fields } = readFields(response.body.toString());
  if (root === 'Error') throw errorInBody(response, fields);
  if (/^html$/i.test(root)) throw new NotXmlError('It is a web page.');
  return fields;
}

const readCopyEtag = (response: HttpResponse): string => unquote(readResult(response).get('ETag'));

function readDeleteResult(bucket: Bucket, response: HttpResponse): DeleteResult {
  const deleted = new Set<Key>();
  const errors = new Map<Key, string>();
  const fields = new Map<string, string>();
  let root = '';
  let [key, code]: [Key | undefined, string] = [undefined, ''];
  readXml(response.body.toString(), (name, text, depth) => {
    if (depth === 0) root = name;
    else if (depth === 2 && name === 'Key') key = fromFullKey(bucket, text);
    else if (depth === 2 && name === 'Code') code = text;
    else if (depth === 1) {
      if (name === 'Deleted' && key !== undefined) deleted.add(key);
      else if (name === 'Error' && key !== undefined) errors.set(key, code);
      else fields.set(name, text);
      [key, code] = [undefined, ''];
    }
  });
  if (root === 'Error') throw errorInBody(response, fields);
  if (root !== 'DeleteResult') throw new NotXmlError(`${root} is not a DeleteObjects result.`);
  return { deleted, errors };
}

/** The fields read so far of the current object or prefix. */
interface ListItem {
  key?: string | undefined;
  size?: string | undefined;
  etag?: string | undefined;
  modified?: string | undefined;
  prefix?: string | undefined;
}

/**
 * Parses the response to ListObjectsV2. Accepts elements in any order and ignores unknown ones. Throws `NotXmlError` if
 * the response is not a listing, because it would otherwise look like an empty bucket.
 */
function readList(response: HttpResponse): ListResult {
  const objects: ListedObject[] = [];
  const prefixes: Key[] = [];
  const page = new Map<string, string>();
  let root = '';
  let item: ListItem = {};
  readXml(response.body.toString(), (name, text, depth) => {
    if (depth === 2) {
      if (name === 'Key') item.key = text;
      else if (name === 'Size') item.size = text;
      else if (name === 'ETag') item.etag = text;
      else if (name === 'LastModified') item.modified = text;
      else if (name === 'Prefix') item.prefix = text;
    } else if (depth === 1) {
      if (name === 'Contents') objects.push(objectOf(item));
      else if (name === 'CommonPrefixes') prefixes.push(item.prefix ?? '');
      else page.set(name, text);
      item = {};
    } else if (depth === 0) {
      root = name;
    }
  });
  if (root === 'Error') throw errorInBody(response, page);
  if (!page.has('Name') && !page.has('IsTruncated')) throw new NotXmlError(`${root} is not a listing.`);
  return {
    isEncoded: page.get('EncodingType')?.trim() === 'url',
    isTruncated: page.get('IsTruncated')?.trim() === 'true',
    token: page.get('NextContinuationToken') || undefined,
    objects,
    prefixes,
  };
}

/** Parses the response to ListObjectVersions, like `readList`. */
function readVersions(response: HttpResponse): VersionsResult {
  const versions: ListedVersion[] = [];
  const page = new Map<string, string>();
  let item = new Map<string, string>();
  let root = '';
  readXml(response.body.toString(), (name, text, depth) => {
    if (depth === 2) item.set(name, text);
    else if (depth === 1) {
      if (name === 'Version' || name === 'DeleteMarker') versions.push(versionOf(item, name === 'DeleteMarker'));
      else page.set(name, text);
      item = new Map();
    } else if (depth === 0) root = name;
  });
  if (root === 'Error') throw errorInBody(response, page);
  if (!page.has('Name') && !page.has('IsTruncated')) throw new NotXmlError(`${root} is not a listing of versions.`);
  return {
    isEncoded: page.get('EncodingType')?.trim() === 'url',
    isTruncated: page.get('IsTruncated')?.trim() === 'true',
    versions,
  };
}

/** Parses the response to ListParts, like `readList`. */
function readParts(response: HttpResponse): PartsResult {
  const parts: ListedPart[] = [];
  const page = new Map<string, string>();
  let item = new Map<string, string>();
  let root = '';
  readXml(response.body.toString(), (name, text, depth) => {
    if (depth === 2) item.set(name, text);
    else if (depth === 1) {
      if (name === 'Part') parts.push(partOf(item));
      else page.set(name, text);
      item = new Map();
    } else if (depth === 0) root = name;
  });
  if (root === 'Error') throw errorInBody(response, page);
  if (!page.has('UploadId')) throw new NotXmlError(`${root} is not a listing of parts.`);
  return { isTruncated: page.get('IsTruncated')?.trim() === 'true', parts };
}

function partOf(item: ReadonlyMap<string, string>): ListedPart {
  const { size, etag } = objectOf({ size: item.get('Size'), etag: item.get('ETag') });
  const partNumber = Number(item.get('PartNumber'));
  if (Number.isInteger(partNumber) && partNumber > 0 && etag !== '') return { partNumber, size, etag };
  throw new NotXmlError('A part has no number or no ETag.');
}

function versionOf(item: ReadonlyMap<string, string>, isMarker: boolean): ListedVersion {
  const versionId = item.get('VersionId');
  if (versionId === undefined) throw new NotXmlError('A version has no id.');
  const [key, size, etag, modified] = ['Key', 'Size', 'ETag', 'LastModified'].map((name) => item.get(name));
  const isLatest = item.get('IsLatest')?.trim() === 'true';
  return { ...objectOf({ key, size: isMarker ? '0' : size, etag, modified }), versionId, isLatest, isMarker };
}

function objectOf({ key = '', size = '0', etag, modified }: ListItem): ListedObject {
  const bytes = Number(size);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new NotXmlError(`${size} is not the size of an object.`);
  const time = Date.parse(modified ?? '');
  return { key, size: bytes, etag: unquote(etag), modified: Number.isNaN(time) ? undefined : new Date(time) };
}
