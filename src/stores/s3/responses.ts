import type { IncomingMessage } from 'node:http';
import type { BackendResponse } from '../../observability/tracer.ts';
import { type ErrorResponse, requestIdIn, S3ErrorResponse } from './errors.ts';
import { NotXmlError, readFields, readXml } from './xml.ts';

/** Returns the status and the request id of a response, for the trace. */
export const observedResponse = ({
  statusCode,
  headers,
}: Pick<IncomingMessage, 'statusCode' | 'headers'>): BackendResponse => ({
  status: statusCode,
  backendId: requestIdIn(headers),
});

/** Maximum bytes of an error response. A longer body is ignored. */
const MOST_OF_REFUSAL = 64 * 2 ** 10;

/**
 * Reads a response to the end. Rejects with `NotXmlError` if the body has more than `most` bytes, or with `ECONNRESET`
 * if it is incomplete.
 */
export function readWhole(response: IncomingMessage, most: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    response.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > most) response.destroy(new NotXmlError(`It is longer than ${most} bytes.`));
      else chunks.push(chunk);
    });
    response.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size)));
    response.once('error', reject);
    const requireEnd = () => {
      if (!response.readableEnded) {
        reject(Object.assign(new Error('The answer breaks off.'), { code: 'ECONNRESET' }));
      }
    };
    if (response.destroyed) requireEnd();
    else response.once('close', requireEnd);
  });
}

/** Reads an error response, with the code and message of the store if the body contains them. */
export async function readErrorResponse(
  response: IncomingMessage,
  { isClockCorrected }: Pick<ErrorResponse, 'isClockCorrected'>,
): Promise<S3ErrorResponse> {
  const { statusCode: status = 0, headers } = response;
  const body = await readWhole(response, MOST_OF_REFUSAL).catch((error: unknown) => {
    if (error instanceof NotXmlError) return undefined;
    throw error;
  });
  return new S3ErrorResponse({ isClockCorrected, status, headers, ...(body && told(body.toString())) });
}

/** Returns the error fields of a body, or nothing if it is not an S3 error, for example the page of a proxy. */
function told(body: string): Partial<ErrorResponse> {
  try {
    const { root, fields } = readFields(body);
    if (root !== 'Error') return {};
    return { code: fields.get('Code'), message: fields.get('Message'), requestId: fields.get('RequestId') };
  } catch (error) {
    if (error instanceof NotXmlError) return {};
    throw error;
  }
}

/** Maximum bytes of the response to a change. */
const MOST_OF_OUTCOME = 64 * 2 ** 10;

/**
 * Returns the elements in the root of a success response. Throws an `S3ErrorResponse` if the body is an error: during a
 * slow copy, stores send status 200 before they know the outcome. Throws `NotXmlError` if the body is a web page.
 */
export async function readOutcome(response: IncomingMessage): Promise<ReadonlyMap<string, string>> {
  const document = (await readWhole(response, MOST_OF_OUTCOME)).toString();
  if (document === '') return new Map();
  const { root, fields } = readFields(document);
  if (root === 'Error') throw errorInBody(response, fields);
  if (/^html$/i.test(root)) throw new NotXmlError('It is a web page.');
  return fields;
}

/** Returns the error in the body of a response with status 200. Status 503 makes it retryable. */
export const errorInBody = ({ headers }: IncomingMessage, fields: ReadonlyMap<string, string>) =>
  new S3ErrorResponse({ status: 503, headers, code: fields.get('Code'), message: fields.get('Message') });

/** A page of a listing as the store sent it. Keys may be encoded. */
export interface ListResponse {
  readonly isEscaped: boolean;
  readonly isTruncated: boolean;
  readonly token: string | undefined;
  readonly objects: readonly ListedObjectFields[];
  readonly prefixes: readonly string[];
}

export interface ListedObjectFields {
  readonly key: string;
  readonly size: number;
  readonly ETag: string | undefined;
  readonly LastModified: Date | undefined;
}

/** Maximum bytes of a listing page: more than 1,000 percent-encoded keys of 1,024 bytes need. */
const MOST = 16 * 2 ** 20;

/**
 * Reads the response to ListObjectsV2. Accepts elements in any order and ignores unknown ones. Throws `NotXmlError` if
 * the response is not a listing, because it would otherwise look like an empty bucket.
 */
export async function readList(response: IncomingMessage): Promise<ListResponse> {
  const document = (await readWhole(response, MOST)).toString();
  const objects: ListedObjectFields[] = [];
  const prefixes: string[] = [];
  const page = new Map<string, string>();
  let root = '';
  let item: Item = {};
  readXml(document, (name, text, depth) => {
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
  if (!page.has('Name') && !page.has('IsTruncated')) throw new NotXmlError(`${root} is no listing.`);
  return {
    isEscaped: page.get('EncodingType')?.trim() === 'url',
    isTruncated: page.get('IsTruncated')?.trim() === 'true',
    token: page.get('NextContinuationToken') || undefined,
    objects,
    prefixes,
  };
}

/** The fields read so far of the current object or prefix. */
interface Item {
  key?: string;
  size?: string;
  etag?: string;
  modified?: string;
  prefix?: string;
}

function objectOf({ key = '', size = '0', etag, modified }: Item): ListedObjectFields {
  const bytes = Number(size);
  if (!Number.isSafeInteger(bytes) || bytes < 0) throw new NotXmlError(`${size} is not the size of an object.`);
  const time = Date.parse(modified ?? '');
  return { key, size: bytes, ETag: etag, LastModified: Number.isNaN(time) ? undefined : new Date(time) };
}
